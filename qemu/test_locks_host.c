// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands in for QEMU in tests of the plugin that watches locks: loads it, and "runs" blocks of a
 * kernel and of a program in an order that a test can know.
 *
 *     test_locks_host PLUGIN ARGUMENT...
 *
 * The kernel's functions are at ffffffff81000100 (takes a lock), ffffffff81000200 (shares one),
 * ffffffff81000300 (gives one back) and ffffffff81000400 (tries to take one).
 */
#include "test_host.h"

static qemu_plugin_vcpu_simple_cb_t idle;

PLUGIN_EXPORT void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *insn,
							  qemu_plugin_vcpu_udata_cb_t cb,
							  enum qemu_plugin_cb_flags flags,
							  void *userdata)
{
	(void)flags;
	insn->call = cb;
	insn->userdata = userdata;
}

PLUGIN_EXPORT void qemu_plugin_register_vcpu_idle_cb(qemu_plugin_id_t id,
						     qemu_plugin_vcpu_simple_cb_t cb)
{
	(void)id;
	idle = cb;
}

PLUGIN_EXPORT bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info)
{
	return info;
}

#define KERNEL 0xffffffff81000000
#define NOP { KERNEL, 1, "\x90", 0, 0, 0 }
#define FUNCTION(at) \
	{ .instructions = { { (at), 1, "\x90", 0, 0, 0 }, { (at) + 1, 4, "\xf0\x0f\xb1\x17", 0, 0, 0 } } }

enum { MARK, CALLER, TAKE, SHARE, RELEASE, TRY, BYTE, SUBTRACT, LOAD, PROGRAM };

static struct qemu_plugin_tb blocks[] = {
	[MARK] = { .instructions = { { 0x1000, 1, "\x90", 0, 0, 0 },
				     { 0x1001, 3, "\x66\x87\xdb", 0, 0, 0 } } },
	/* Calls what comes next. */
	[CALLER] = { .instructions = { NOP, { KERNEL + 1, 1, "\x90", 0, 0, 0 } } },
	[TAKE] = FUNCTION(KERNEL + 0x100),
	[SHARE] = FUNCTION(KERNEL + 0x200),
	[RELEASE] = FUNCTION(KERNEL + 0x300),
	[TRY] = FUNCTION(KERNEL + 0x400),
	/* movb $0, (%rdi) and lock subl: how locks are given back in place. */
	[BYTE] = { .instructions = { NOP, { KERNEL + 0x501, 3, "\xc6\x07", 0, 0, 0 } } },
	[SUBTRACT] = { .instructions = { NOP, { KERNEL + 0x601, 6, "\xf0\x81\x2f\x00\x02", 0, 0, 0 } } },
	/* A load of one byte is nothing. */
	[LOAD] = { .instructions = { NOP, { KERNEL + 0x701, 3, "\x0f\xb6\x07", 0, 0, 0 } } },
	[PROGRAM] = { .instructions = { { 0x2000, 1, "\x90", 0, 0, 0 },
					{ 0x2001, 4, "\xf0\x0f\xb1\x17", 0, 0, 0 } } },
};

/* A CPU runs a block, whose last instruction stores at an address. */
static void run(unsigned int cpu, int number, uint64_t address)
{
	const struct qemu_plugin_insn *last = &blocks[number].instructions[1];

	begin(cpu, &blocks[number]);
	if (last->call)
		last->call(cpu, last->userdata);
	if (last->access)
		last->access(cpu, 1, address, last->userdata);
}

int main(int argc, char **argv)
{
	int failed = load(argc, argv);

	if (failed)
		return failed;
	/* Before the mark, nothing is written down; but that the lock is held is known. */
	run(0, CALLER, 0);
	run(0, TAKE, 0xa0);
	run(1, CALLER, 0);
	run(0, MARK, 0);
	run(0, BYTE, 0xa0);
	run(0, CALLER, 0);
	run(0, TAKE, 0xb0);
	run(0, BYTE, 0xb1);
	run(0, LOAD, 0xb0);
	run(0, PROGRAM, 0xb0);
	run(1, BYTE, 0xb0);
	run(0, CALLER, 0);
	run(0, SHARE, 0xc0);
	/* That of a reader is given back by a subtraction, that of a writer by a byte. */
	run(0, BYTE, 0xc0);
	run(0, SUBTRACT, 0xb0);
	run(0, SUBTRACT, 0xc0);
	run(0, BYTE, 0xb0);
	run(0, TRY, 0xd0);
	run(0, RELEASE, 0xd0);
	run(0, BYTE, 0xd0);
	idle(0, 1);
	run(0, MARK, 0);
	run(0, TAKE, 0xe0);
	ended(0, NULL);
	return 0;
}
