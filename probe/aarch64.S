/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Where stubs enter C. A stub runs in front of a function or behind it, where each register may
 * hold an argument or a result, and where callers in the same file may rely on registers that the
 * ABI calls scratch (gcc's -fipa-ra). So everything but the flags is saved, except x16 and x17,
 * which the linker may change in any call, and x30, which the stub keeps itself. x16 brings results.
 *
 *	caller's stack
 *	x16 of the stub: what this is about; the stub's x30	<- sp on entry
 *	x18, room for the result
 *	x0 to x15
 *	x29 x30				<- x29 and sp from here on
 *	vectors, for what is rare or is not ours
 */
#include "internal.h"

	.arch	armv8-a+sve
	.text

#define SAVED 160
#define RESULT 152
#define ARGUMENT SAVED

	.macro save
	/* paciasp: this may be the target of an indirect branch, too. */
	hint	#25
	.cfi_negate_ra_state
	stp	x29, x30, [sp, #-SAVED]!
	.cfi_def_cfa_offset SAVED
	.cfi_offset 29, -SAVED
	.cfi_offset 30, -SAVED + 8
	mov	x29, sp
	.cfi_def_cfa_register 29
	stp	x0, x1, [sp, #16]
	stp	x2, x3, [sp, #32]
	stp	x4, x5, [sp, #48]
	stp	x6, x7, [sp, #64]
	stp	x8, x9, [sp, #80]
	stp	x10, x11, [sp, #96]
	stp	x12, x13, [sp, #112]
	stp	x14, x15, [sp, #128]
	str	x18, [sp, #144]
	.endm

	.macro restore
	mov	sp, x29
	ldr	x18, [sp, #144]
	ldp	x14, x15, [sp, #128]
	ldp	x12, x13, [sp, #112]
	ldp	x10, x11, [sp, #96]
	ldp	x8, x9, [sp, #80]
	ldp	x6, x7, [sp, #64]
	ldp	x4, x5, [sp, #48]
	ldp	x2, x3, [sp, #32]
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #SAVED
	.cfi_def_cfa 31, 0
	.cfi_restore 29
	.cfi_restore 30
	/* autiasp */
	hint	#29
	.cfi_negate_ra_state
	.endm

	.macro each_vector do, with
	\do	\with\()0, 0
	\do	\with\()1, 1
	\do	\with\()2, 2
	\do	\with\()3, 3
	\do	\with\()4, 4
	\do	\with\()5, 5
	\do	\with\()6, 6
	\do	\with\()7, 7
	\do	\with\()8, 8
	\do	\with\()9, 9
	\do	\with\()10, 10
	\do	\with\()11, 11
	\do	\with\()12, 12
	\do	\with\()13, 13
	\do	\with\()14, 14
	\do	\with\()15, 15
	.endm

	.macro more_vectors do, with
	\do	\with\()16, 16
	\do	\with\()17, 17
	\do	\with\()18, 18
	\do	\with\()19, 19
	\do	\with\()20, 20
	\do	\with\()21, 21
	\do	\with\()22, 22
	\do	\with\()23, 23
	\do	\with\()24, 24
	\do	\with\()25, 25
	\do	\with\()26, 26
	\do	\with\()27, 27
	\do	\with\()28, 28
	\do	\with\()29, 29
	\do	\with\()30, 30
	\do	\with\()31, 31
	.endm

	.macro put_quad name, number
	str	\name, [sp, #16 + 16 * \number]
	.endm
	.macro get_quad name, number
	ldr	\name, [sp, #16 + 16 * \number]
	.endm
	.macro put_scalable name, number
	str	\name, [x1, #\number, mul vl]
	.endm
	.macro get_scalable name, number
	ldr	\name, [x1, #\number, mul vl]
	.endm

	/* Makes room for the vectors and saves them. Changes x0, x1. */
	.macro save_vectors
	adrp	x0, trimtab_probe_scalable
	ldrb	w0, [x0, #:lo12:trimtab_probe_scalable]
	cbnz	w0, 1f
	sub	sp, sp, #16 + 512
	each_vector put_quad, q
	more_vectors put_quad, q
	b	2f
	/* Predicates take an eighth of a vector: 16 of them two. */
1:	rdvl	x0, #17
	sub	sp, sp, x0
	sub	sp, sp, x0
	sub	sp, sp, #16
	add	x1, sp, #16
	each_vector put_scalable, z
	more_vectors put_scalable, z
	rdvl	x0, #16
	add	x1, x1, x0
	add	x1, x1, x0
	each_vector put_scalable, p
2:	mrs	x0, fpcr
	mrs	x1, fpsr
	stp	x0, x1, [sp]
	.endm

	/* Changes x0, x1. */
	.macro restore_vectors
	ldp	x0, x1, [sp]
	msr	fpcr, x0
	msr	fpsr, x1
	adrp	x0, trimtab_probe_scalable
	ldrb	w0, [x0, #:lo12:trimtab_probe_scalable]
	cbnz	w0, 3f
	each_vector get_quad, q
	more_vectors get_quad, q
	b	4f
3:	add	x1, sp, #16
	each_vector get_scalable, z
	more_vectors get_scalable, z
	rdvl	x0, #16
	add	x1, x1, x0
	add	x1, x1, x0
	each_vector get_scalable, p
4:
	.endm

	.macro entry name
	.globl	\name
	.hidden	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	.endm

	.macro end name
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* Given an object: gives in x16 the cells of it for this thread. Rare. */
entry trimtab_probe_block
	save
	save_vectors
	ldr	x0, [x29, #ARGUMENT]
	bl	probe_block
	str	x0, [x29, #RESULT]
	restore_vectors
	ldr	x16, [x29, #RESULT]
	restore
	ret
end trimtab_probe_block

/* Has the thread have free frames. Nothing is given; sp is 16 less than at the function's entry.
 * Rare. */
entry trimtab_probe_frame
	save
	save_vectors
	add	x0, x29, #SAVED
	bl	probe_frame
	restore_vectors
	restore
	ret
end trimtab_probe_frame

/* Given the cell of a function that runs for the first time on this thread. */
entry trimtab_probe_first
	save
	ldr	x0, [x29, #ARGUMENT]
	bl	probe_first
	restore
	ret
end trimtab_probe_first

	.macro event name, function
/* Given a function, which is entered or left; x19 = its frame, if it has one. */
entry \name
	save
	adrp	x0, trimtab_probe_hook
	ldr	w0, [x0, #:lo12:trimtab_probe_hook]
	cmp	w0, #HOOK_USER
	b.eq	5f
	ldr	x0, [x29, #ARGUMENT]
	add	x1, x29, #SAVED + 16
	mov	x2, x19
	bl	\function
	.cfi_remember_state
	restore
	ret
	.cfi_restore_state
5:	save_vectors
	ldr	x0, [x29, #ARGUMENT]
	bl	\function\()_user
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

	.macro tell symbol
	mov	x16, x0
	stp	x16, x30, [sp, #-16]!
	.cfi_def_cfa_offset 32
	bl	\symbol
	ldr	x30, [sp, #8]
	add	sp, sp, #16
	.cfi_def_cfa_offset 16
	.endm

/* x0 = a function: does around trimtab_probe_body what a stub does with HOOK_EVENT. The probes are
 * off. */
entry trimtab_probe_around
	adrp	x16, trimtab_probe_on
	ldrb	w16, [x16, #:lo12:trimtab_probe_on]
	cbnz	x16, 6f
	stp	xzr, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset 30, -8
	tell	trimtab_probe_enter
	bl	trimtab_probe_body
	tell	trimtab_probe_leave
	ldp	x16, x30, [sp], #16
	.cfi_def_cfa_offset 0
	.cfi_restore 30
6:	ret
end trimtab_probe_around

	/* Branch targets are marked and return addresses signed here: all objects of a program must be
	 * so, or it does without. */
	.section .note.gnu.property, "a"
	.p2align 3
	.word	4, 16, 5
	.asciz	"GNU"
	.word	0xc0000000, 4, 3, 0

	.section .note.GNU-stack, "", %progbits
