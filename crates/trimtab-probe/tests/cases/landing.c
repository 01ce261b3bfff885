/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Linked to a program for AArch64: from main to exit, its code may be reached by way of a pointer only
 * where compilers marked it. The C library's own parts in the program have no such marks. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifndef PROT_BTI
#define PROT_BTI 0x10
#endif

extern const char __executable_start[], etext[];

static int protect(int how)
{
	unsigned long start = (unsigned long)__executable_start & -65536ul;

	return mprotect((void *)start, (unsigned long)etext - start, how);
}

static void open_again(void)
{
	protect(PROT_READ | PROT_EXEC);
}

/* Not marked, which the processor has to notice. */
__asm__(".pushsection .text\n.p2align 3\n.globl unmarked\n.type unmarked,%function\n"
	"unmarked: ret\n.size unmarked,.-unmarked\n.popsection");
void unmarked(void);

__attribute__((constructor)) static void guard(void)
{
	void (*volatile pointer)(void) = unmarked;

	atexit(open_again);
	if (protect(PROT_READ | PROT_EXEC | PROT_BTI)) {
		perror("mprotect");
		abort();
	}
#ifdef UNMARKED
	pointer();
#else
	(void)pointer;
#endif
}
