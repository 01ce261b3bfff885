// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands in for QEMU in tests of the plugin: loads it, and "runs" three blocks of code in an order
 * that a test can know.
 *
 *     test_host PLUGIN ARGUMENT...
 *
 * The blocks are at 0x1000, 0x1010 and 0x900; they run as 0 1 2, three hundred times, then 1.
 */
#include "test_host.h"

PLUGIN_EXPORT void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb,
							    enum qemu_plugin_op op, void *ptr,
							    uint64_t imm)
{
	(void)op;
	(void)imm;
	tb->counter = ptr;
}

PLUGIN_EXPORT void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn)
{
	return (void *)(uintptr_t)insn->address;
}

int main(int argc, char **argv)
{
	struct qemu_plugin_tb blocks[3] = {
		{ .instructions = { { .address = 0x1000, .bytes = 6 }, { .address = 0x1006, .bytes = 10 } } },
		{ .instructions = { { .address = 0x1010, .bytes = 2 }, { .address = 0x1012, .bytes = 3 } } },
		{ .instructions = { { .address = 0x900, .bytes = 1 }, { .address = 0x901, .bytes = 1 } } },
	};
	int failed = load(argc, argv);

	if (failed)
		return failed;
	for (int round = 0; round < 300; round++)
		for (int block = 0; block < 3; block++)
			begin(0, &blocks[block]);
	begin(0, &blocks[1]);
	ended(0, NULL);
	return 0;
}
