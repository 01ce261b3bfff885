/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Where stubs enter C. A stub runs in front of a function or behind it, where each register may
 * hold an argument or a result, and where callers in the same file may rely on registers that the
 * ABI calls scratch (gcc's -fipa-ra). So everything but the flags is saved, except r11 where it
 * brings the result.
 *
 *	caller's stack
 *	return address into the stub	<- rsp on entry
 *	rbp				<- rbp from here on
 *	rax rcx rdx rsi rdi r8 r9 r10
 *	(aligned) vectors, for what is rare or is not ours
 */
#include "internal.h"
#ifdef __CET__
#include <cet.h>
#endif

	.text

	.macro save
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push	%rax
	push	%rcx
	push	%rdx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	.endm

	.macro restore
	lea	-64(%rbp), %rsp
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%rcx
	pop	%rax
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	.endm

	/* Makes room for the vectors and saves them. Changes rax, rcx, rdx. */
	.macro save_vectors
	mov	trimtab_probe_vectors(%rip), %rcx
	sub	%rcx, %rsp
	and	$-64, %rsp
	cmpb	$0, trimtab_probe_xsave(%rip)
	je	1f
	/* XSAVE wants a clean header. */
	xor	%eax, %eax
	mov	%rax, 512(%rsp)
	mov	%rax, 520(%rsp)
	mov	%rax, 528(%rsp)
	mov	%rax, 536(%rsp)
	mov	%rax, 544(%rsp)
	mov	%rax, 552(%rsp)
	mov	%rax, 560(%rsp)
	mov	%rax, 568(%rsp)
	mov	$0xe7, %eax
	xor	%edx, %edx
	xsave64	(%rsp)
	jmp	2f
1:	fxsave64 (%rsp)
2:
	.endm

	.macro restore_vectors
	cmpb	$0, trimtab_probe_xsave(%rip)
	je	3f
	mov	$0xe7, %eax
	xor	%edx, %edx
	xrstor64 (%rsp)
	jmp	4f
3:	fxrstor64 (%rsp)
4:
	.endm

	.macro entry name
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	.endm

	.macro end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* r11 = an object; gives in r11 the cells of it for this thread. Rare. */
entry trimtab_probe_block
	save
	sub	$8, %rsp
	push	%r11
	save_vectors
	mov	-80(%rbp), %rdi
	call	probe_block
	mov	%rax, -72(%rbp)
	restore_vectors
	mov	-72(%rbp), %r11
	restore
	ret
end trimtab_probe_block

/* Gives in r11 a list of free frames, which is also the thread's. Rare. */
entry trimtab_probe_frame
	save
	sub	$16, %rsp
	save_vectors
	mov	%rbp, %rdi
	call	probe_frame
	mov	%rax, -72(%rbp)
	restore_vectors
	mov	-72(%rbp), %r11
	restore
	ret
end trimtab_probe_frame

/* r11 = the cell of a function that runs for the first time on this thread. */
entry trimtab_probe_first
	save
	and	$-16, %rsp
	mov	%r11, %rdi
	call	probe_first
	restore
	ret
end trimtab_probe_first

	.macro event name, function
/* r11 = a function, which is entered or left; rbx = its frame, if it has one. */
entry \name
	save
	cmpl	$HOOK_USER, trimtab_probe_hook(%rip)
	je	5f
	and	$-16, %rsp
	mov	%r11, %rdi
	lea	16(%rbp), %rsi
	mov	%rbx, %rdx
	call	\function
	.cfi_remember_state
	restore
	ret
	.cfi_restore_state
5:	sub	$8, %rsp
	push	%r11
	save_vectors
	mov	-80(%rbp), %rdi
	call	\function\()_user
	restore_vectors
	restore
	ret
end \name
	.endm

	event trimtab_probe_enter, probe_enter
	event trimtab_probe_leave, probe_leave

/* A function that does nothing. */
entry trimtab_probe_body
	ret
end trimtab_probe_body

/* rdi = a function: does around trimtab_probe_body what a stub does with HOOK_EVENT. The probes are
 * off. */
entry trimtab_probe_around
	cmpb	$1, trimtab_probe_on(%rip)
	je	6f
	push	%rdi
	.cfi_def_cfa_offset 16
	/* In place of the thread's cells. */
	mov	(%rsp), %r11
	cmp	%rsp, %r11
	je	6f
	mov	%rdi, %r11
	call	trimtab_probe_enter
	mov	(%rsp), %r11
	call	trimtab_probe_body
	mov	%r11, (%rsp)
	mov	%rdi, %r11
	call	trimtab_probe_leave
	pop	%r11
	.cfi_def_cfa_offset 8
6:	ret
end trimtab_probe_around

	.section .note.GNU-stack, "", @progbits
