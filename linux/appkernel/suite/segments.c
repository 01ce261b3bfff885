// SPDX-License-Identifier: GPL-2.0-only
/* Segments that a thread must not find elsewhere: by one it would be in the kernel, by another in no entry of it. */
#include <stdint.h>
#include <sys/mman.h>
#include "suite.h"

/* The first entry of a local table is where the table begins: at address 0, if nobody said where. */
#define LOCAL 0x1000ul
#define LOCAL_SELECTOR (LOCAL | 7)
/* 32-bit code of user space, in the table that all share. */
#define CODE32_SELECTOR 0x23ul
/* Writable data of user space, all of it. */
#define DATA 0x00cff2000000ffffull

/* Whether a selector leads to a descriptor that user space may use. */
static int has_limit(unsigned long selector)
{
	unsigned long limit;
	unsigned char found;

	__asm__ volatile("lsl %2, %0\n\tsetz %1" : "=r"(limit), "=q"(found) : "r"(selector) : "cc");
	return found;
}

int test_segments(void)
{
	uint64_t *page = mmap((void *)LOCAL, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (page != (void *)LOCAL)
		return 1;
	*page = DATA;
	for (int i = 0; i < 1000; i++) {
		int local, code;

		if (!elsewhere())
			return 1;
		local = has_limit(LOCAL_SELECTOR);
		code = has_limit(CODE32_SELECTOR);
		/* It was there all the time, or is asked once more. */
		if (is_ours(apic_id()))
			return local || code || munmap(page, 4096) != 0;
	}
	return 1;
}
