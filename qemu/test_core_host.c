// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stands in for QEMU in tests of the plugin that has the model of a core: loads it, and "runs" blocks of a kernel
 * and of a program in an order that a test can know.
 *
 *     test_core_host PLUGIN ARGUMENT...
 *
 * System calls enter the kernel at ffffffff81000000; two functions for them are at ffffffff81000100 and
 * ffffffff81000200.
 */
#include "test_host.h"

#define KERNEL 0xffffffff81000000
#define BLOCK(at, bytes, code) \
	{ .instructions = { { (at), 1, "\x90", 0, 0, 0 }, { (at) + 1, (bytes), (code), 0, 0, 0 } } }

enum { ENTRY, OPEN, CLOSE, BRANCH, BEHIND, ELSEWHERE, INDIRECT, PROGRAM };

static struct qemu_plugin_tb blocks[] = {
	[ENTRY] = BLOCK(KERNEL, 1, "\x90"),
	[OPEN] = BLOCK(KERNEL + 0x100, 1, "\x90"),
	[CLOSE] = BLOCK(KERNEL + 0x200, 1, "\x90"),
	/* jne */
	[BRANCH] = BLOCK(KERNEL + 0x300, 2, "\x75\x10"),
	[BEHIND] = BLOCK(KERNEL + 0x303, 1, "\x90"),
	[ELSEWHERE] = BLOCK(KERNEL + 0x340, 1, "\x90"),
	/* call *%rax */
	[INDIRECT] = BLOCK(KERNEL + 0x308, 2, "\xff\xd0"),
	[PROGRAM] = BLOCK(0x1000, 1, "\x90"),
};

static void run(int number)
{
	begin(0, &blocks[number]);
}

/* A block whose last instruction accesses an address. */
static void access(int number, uint64_t address)
{
	const struct qemu_plugin_insn *last = &blocks[number].instructions[1];

	run(number);
	last->access(0, 0, address, last->userdata);
}

int main(int argc, char **argv)
{
	int failed = load(argc, argv);

	if (failed)
		return failed;
	/* No call: the kernel does something else. A block has two instructions; each cache misses once. */
	access(OPEN, 0xa0);
	run(PROGRAM);
	/* Caches are empty again: 3 misses of the first, and one of the second. */
	run(ENTRY);
	access(OPEN, 0xa0);
	access(OPEN, 0xbf);
	/* Only the first function that is called names it. */
	run(CLOSE);
	run(PROGRAM);
	/* The branch is not expected to be taken; what it did last time is known by its history. */
	run(ENTRY);
	run(CLOSE);
	run(BRANCH);
	run(BEHIND);
	run(BRANCH);
	run(ELSEWHERE);
	/* The first time nobody knows where to, then it is the same place, then another. */
	run(INDIRECT);
	run(ELSEWHERE);
	run(INDIRECT);
	run(ELSEWHERE);
	run(INDIRECT);
	run(BEHIND);
	run(PROGRAM);
	/* A way in that calls none of them. */
	run(ENTRY);
	run(PROGRAM);
	/* Sets have two lines: the third of a set drives out the first. */
	run(ENTRY);
	access(OPEN, 0x000);
	access(OPEN, 0x080);
	access(OPEN, 0x100);
	access(OPEN, 0x080);
	access(OPEN, 0x000);
	run(PROGRAM);
	ended(0, NULL);
	return 0;
}
