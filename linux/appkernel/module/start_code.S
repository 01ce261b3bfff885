/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU runs after the start-up interrupt, from a page below 1 MB where start.c copies it: real mode,
 * protected mode, long mode, and on to the kernel's addresses. Parameters are in the same page.
 */
#include <linux/linkage.h>
#include "layout.h"

	.section .rodata, "a"
	.balign 16
SYM_DATA_START(ak_start_code)
	.code16
	cli
	cld
	movw	%cs, %ax
	movw	%ax, %ds
	/* The page's address, for when segments no longer have it. */
	xorl	%ebx, %ebx
	movw	%ax, %bx
	shll	$4, %ebx
	movl	$1, AK_START_STAGE
	lgdtl	AK_START_GDTR
	movl	%cr0, %eax
	orl	$1, %eax		/* PE */
	movl	%eax, %cr0
	ljmpl	*AK_START_FAR32

	.code32
.Lprotected:
	movl	$AK_SEL_DATA, %eax
	movl	%eax, %ds
	movl	%eax, %es
	movl	%eax, %ss
	movl	$2, AK_START_STAGE(%ebx)
	movl	%cr4, %eax
	orl	$0x20, %eax		/* PAE */
	movl	%eax, %cr4
	movl	AK_START_CR3(%ebx), %eax
	movl	%eax, %cr3
	movl	$0xc0000080, %ecx	/* EFER */
	rdmsr
	orl	$0x900, %eax		/* NXE, LME */
	wrmsr
	movl	%cr0, %eax
	orl	$0x80000000, %eax	/* PG */
	movl	%eax, %cr0
	ljmpl	*AK_START_FAR64(%ebx)

	.code64
.Llong:
	movl	$3, AK_START_STAGE(%rbx)
	movq	AK_START_SP(%rbx), %rsp
	movq	AK_START_CPU(%rbx), %rdi
	xorl	%ebp, %ebp
	jmpq	*AK_START_ENTRY(%rbx)
	int3
SYM_DATA_END_LABEL(ak_start_code, SYM_L_GLOBAL, ak_start_end)

	.balign 4
SYM_DATA(ak_start_protected, .long .Lprotected - ak_start_code)
SYM_DATA(ak_start_long, .long .Llong - ak_start_code)
