// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands in for QEMU in tests of the plugin: loads it, and "runs" three blocks of code in an order
 * that a test can know.
 *
 *     test_host PLUGIN ARGUMENT...
 *
 * The blocks are at 0x1000, 0x1010 and 0x900; they run as 0 1 2, three hundred times, then 1.
 */
#include "qemu_plugin_api.h"

#include <dlfcn.h>
#include <stdio.h>

struct qemu_plugin_insn {
	uint64_t address;
	size_t bytes;
};

struct qemu_plugin_tb {
	struct qemu_plugin_insn instructions[2];
	uint64_t *counter;
	qemu_plugin_vcpu_udata_cb_t call;
	void *userdata;
};

static qemu_plugin_vcpu_tb_trans_cb_t translated;
static qemu_plugin_udata_cb_t ended;

PLUGIN_EXPORT void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
							 qemu_plugin_vcpu_tb_trans_cb_t cb)
{
	(void)id;
	translated = cb;
}

PLUGIN_EXPORT void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb,
							    enum qemu_plugin_op op, void *ptr,
							    uint64_t imm)
{
	(void)op;
	(void)imm;
	tb->counter = ptr;
}

PLUGIN_EXPORT void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
							qemu_plugin_vcpu_udata_cb_t cb,
							enum qemu_plugin_cb_flags flags,
							void *userdata)
{
	(void)flags;
	tb->call = cb;
	tb->userdata = userdata;
}

PLUGIN_EXPORT void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, qemu_plugin_udata_cb_t cb,
						  void *userdata)
{
	(void)id;
	(void)userdata;
	ended = cb;
}

PLUGIN_EXPORT size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb)
{
	(void)tb;
	return 2;
}

PLUGIN_EXPORT uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb)
{
	return tb->instructions[0].address;
}

PLUGIN_EXPORT struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
							       size_t idx)
{
	return (struct qemu_plugin_insn *)&tb->instructions[idx];
}

PLUGIN_EXPORT size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn)
{
	return insn->bytes;
}

PLUGIN_EXPORT uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn)
{
	return insn->address;
}

PLUGIN_EXPORT void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn)
{
	return (void *)(uintptr_t)insn->address;
}

static void run(struct qemu_plugin_tb *tb)
{
	if (!tb->counter)
		translated(0, tb);
	*tb->counter += 1;
	if (tb->call)
		tb->call(0, tb->userdata);
}

int main(int argc, char **argv)
{
	struct qemu_plugin_tb blocks[3] = {
		{ .instructions = { { 0x1000, 6 }, { 0x1006, 10 } } },
		{ .instructions = { { 0x1010, 2 }, { 0x1012, 3 } } },
		{ .instructions = { { 0x900, 1 }, { 0x901, 1 } } },
	};
	const qemu_info_t info = { .target_name = "x86_64", .system_emulation = true };
	int (*install)(qemu_plugin_id_t, const qemu_info_t *, int, char **);
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!plugin) {
		fprintf(stderr, "test_host: %s\n", argc > 1 ? dlerror() : "which plugin?");
		return 2;
	}
	*(void **)&install = dlsym(plugin, "qemu_plugin_install");
	if (!install || install(0, &info, argc - 2, argv + 2) != 0)
		return 1;
	for (int round = 0; round < 300; round++)
		for (int block = 0; block < 3; block++)
			run(&blocks[block]);
	run(&blocks[1]);
	ended(0, NULL);
	return 0;
}
