/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What stands in for QEMU in tests of plugins: blocks of two instructions, what a plugin asks for of them, and how it is
 * loaded.
 */
#ifndef TRIMTAB_TEST_HOST_H
#define TRIMTAB_TEST_HOST_H

#include "qemu_plugin_api.h"

#include <dlfcn.h>
#include <stdio.h>

struct qemu_plugin_insn {
	uint64_t address;
	size_t bytes;
	const char *code;
	/* What the plugin asked for. */
	qemu_plugin_vcpu_mem_cb_t access;
	qemu_plugin_vcpu_udata_cb_t call;
	void *userdata;
};

struct qemu_plugin_tb {
	struct qemu_plugin_insn instructions[2];
	bool is_translated;
	/* What the plugin asked for. */
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

PLUGIN_EXPORT void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
						    qemu_plugin_vcpu_mem_cb_t cb,
						    enum qemu_plugin_cb_flags flags,
						    enum qemu_plugin_mem_rw rw, void *userdata)
{
	(void)flags;
	(void)rw;
	insn->access = cb;
	insn->userdata = userdata;
}

PLUGIN_EXPORT const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn)
{
	return insn->code;
}

/* Loads the plugin that the first argument names, with the others as its own. An exit code, 0 if it is there. */
static int load(int argc, char **argv)
{
	const qemu_info_t info = { .target_name = "x86_64", .system_emulation = true };
	int (*install)(qemu_plugin_id_t, const qemu_info_t *, int, char **);
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;

	if (!plugin) {
		fprintf(stderr, "%s: %s\n", argv[0], argc > 1 ? dlerror() : "which plugin?");
		return 2;
	}
	*(void **)&install = dlsym(plugin, "qemu_plugin_install");
	return install && install(0, &info, argc - 2, argv + 2) == 0 ? 0 : 1;
}

/* Has a CPU begin a block, which is translated where that is the first time. */
static void begin(unsigned int cpu, struct qemu_plugin_tb *tb)
{
	if (!tb->is_translated)
		translated(0, tb);
	tb->is_translated = true;
	if (tb->counter)
		*tb->counter += 1;
	if (tb->call)
		tb->call(cpu, tb->userdata);
}

#endif
