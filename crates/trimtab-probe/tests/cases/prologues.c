/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* AArch64 functions that begin with what is relative to its place, and such as must be left alone. */
#include <stdio.h>

#define KEEP __attribute__((noinline))

/* Functions in assembly, but with all that compilers tell of them. */
#define FUNCTION(name, text)                                                                          \
	__asm__(".pushsection .text." #name ",\"ax\",%progbits\n"                                      \
		".globl " #name "\n.type " #name ",%function\n.p2align 3\n" #name ":\n.cfi_startproc\n" text \
		"\n.cfi_endproc\n.size " #name ",.-" #name "\n.popsection");                           \
	long name(long value)

FUNCTION(head_adr, "adr x1, 1f\nldr w0, [x1, x0, lsl #2]\nret\n.p2align 2\n1: .word 11, 22, 33");
FUNCTION(head_cbz, "cbz x0, 1f\nmov x0, #5\nret\n1: mov x0, #6\nret");
FUNCTION(head_tbz, "tbz x0, #33, 1f\nmov x0, #7\nret\n1: mov x0, #8\nret");
FUNCTION(head_literal, "ldr x1, 1f\nadd x0, x0, x1\nret\n.p2align 3\n1: .xword 1000000007");
FUNCTION(head_jump, "b head_cbz");
FUNCTION(head_cond, "cbnz x0, head_tbz\nmov x0, #9\nret");
/* The first instruction is part of a loop. */
FUNCTION(head_loop, "sub x0, x0, #3\ncmp x0, #3\nb.ge head_loop\nret");
/* The table leads to the first instruction, and only the assembler knows. */
FUNCTION(head_table, "sub x0, x0, #1\nadr x1, 2f\nadr x2, 3f\ncmp x0, #2\ncsel x3, x0, xzr, lt\n"
		     "cmp x3, #0\ncsel x3, x3, xzr, gt\nldrsb x3, [x2, x3]\nadd x1, x1, x3, lsl #2\nbr x1\n"
		     "2: ret\n3: .byte 0, (head_table - 2b) / 4\n.p2align 2");

KEEP void *looks_back(void)
{
	return __builtin_return_address(0);
}

typedef float quad __attribute__((vector_size(16)));
__attribute__((aarch64_vector_pcs, noinline)) quad vectors(quad a)
{
	return a + a;
}

int main(void)
{
	quad a = { 1, 2, 3, 4 };
	long looked = (long)looks_back() - (long)main;

	for (long i = 0; i < 3; i++)
		printf("%ld %ld %ld %ld ", head_adr(i), head_cbz(i), head_tbz(i << 33), head_literal(i));
	printf("%ld %ld %ld %ld\n", head_jump(0), head_jump(4), head_cond(0), head_cond(1l << 33));
	printf("%ld %ld %g %d\n", head_loop(14), head_table(2), vectors(a)[2], looked > 0 && looked < 4096);
	return 0;
}
