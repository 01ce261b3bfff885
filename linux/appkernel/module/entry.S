/* SPDX-License-Identifier: GPL-2.0-only */
/* Into user mode and back, on a CPU of the module. */
#include <linux/linkage.h>
#include <asm/alternative.h>
#include <asm/nospec-branch.h>
#include <asm/segment.h>
#include <asm/smap.h>
#include <asm/trapnr.h>
#include "layout.h"

	.text
	.code64

/*
 * Registers are saved where Linux would have saved them: in the thread's own struct pt_regs, at the top of its
 * stack for kernel mode, in the order of that structure. Interrupts are off meanwhile, and what can come
 * nevertheless has a stack of its own, so that nothing else is ever written there.
 */
.macro PUSH_REGISTERS_BEHIND_DI
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%rax
	pushq	%r8
	pushq	%r9
	pushq	%r10
	pushq	%r11
	pushq	%rbx
	pushq	%rbp
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
.endm

/*
 * void ak_enter_user(struct ak_cpu *cpu): runs the registers below AK_REGS_END in the address space
 * cpu->user_cr3, and returns when that comes back into the kernel: cpu->vector says why.
 */
SYM_FUNC_START(ak_enter_user)
	pushq	%rbp
	pushq	%rbx
	pushq	%r12
	pushq	%r13
	pushq	%r14
	pushq	%r15
	movq	%rsp, AK_KERNEL_SP(%rdi)
	movq	AK_USER_CR3(%rdi), %rax
	movq	%rax, %cr3
	movq	AK_REGS_END(%rdi), %rsp
	subq	$AK_REGS_SIZE, %rsp

	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbp
	popq	%rbx
	popq	%r11
	popq	%r10
	popq	%r9
	popq	%r8
	popq	%rax
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	/* orig_ax */
	addq	$8, %rsp
	swapgs
	CLEAR_CPU_BUFFERS
	iretq
SYM_FUNC_END(ak_enter_user)

/* The second half of ak_enter_user(): everything is saved, %gs is the kernel's. */
SYM_CODE_START_LOCAL(ak_leave_user)
	movq	%gs:AK_KERNEL_CR3, %rax
	movq	%rax, %cr3
	movq	%gs:AK_KERNEL_SP, %rsp
	cld
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	RET
SYM_CODE_END(ak_leave_user)

/*
 * u64 ak_peek(u64 address): four bytes of user memory, in whose address space the CPU is; a number that they
 * cannot be if they are not there, or may not be read.
 */
SYM_FUNC_START(ak_peek)
	ASM_STAC
.Lpeek_load:
	movl	(%rdi), %eax
	ASM_CLAC
	RET
.Lpeek_fault:
	ASM_CLAC
	movq	$-1, %rax
	RET
SYM_FUNC_END(ak_peek)

/* Where the instruction syscall leads: no stack yet, the return address in %rcx, flags in %r11. */
SYM_CODE_START(ak_syscall_entry)
	swapgs
	movq	%rsp, %gs:AK_SCRATCH
	movq	%gs:AK_REGS_END, %rsp
	pushq	$__USER_DS
	pushq	%gs:AK_SCRATCH
	pushq	%r11
	pushq	$__USER_CS
	pushq	%rcx
	pushq	%rax
	pushq	%rdi
	PUSH_REGISTERS_BEHIND_DI
	movq	$AK_SYSCALL, %gs:AK_VECTOR
	jmp	ak_leave_user
SYM_CODE_END(ak_syscall_entry)

/* On the stack: vector, error code, and what the CPU pushed: ip, cs, flags, sp, ss. */
SYM_CODE_START_LOCAL(ak_trap)
	testb	$3, 24(%rsp)
	jz	.Lfrom_kernel
	swapgs
	ALTERNATIVE "", "lfence", X86_FEATURE_FENCE_SWAPGS_USER
	/* In struct pt_regs, the vector is where %rdi belongs, and the error code is orig_ax. */
	movq	%rdi, %gs:AK_SCRATCH
	movq	8(%rsp), %rdi
	movq	%rdi, %gs:AK_ERROR
	popq	%gs:AK_VECTOR
	pushq	%gs:AK_SCRATCH
	PUSH_REGISTERS_BEHIND_DI
	jmp	ak_leave_user

.Lfrom_kernel:
	ALTERNATIVE "", "lfence", X86_FEATURE_FENCE_SWAPGS_KERNEL
	/* A load of the thread's memory that is not there: it goes on behind it. */
	cmpq	$X86_TRAP_PF, (%rsp)
	jne	.Lis_not_load
	cmpq	$.Lpeek_load, 16(%rsp)
	jne	.Lis_not_load
	movq	$.Lpeek_fault, 16(%rsp)
	jmp	.Lacknowledged
.Lis_not_load:
	/* A kick that met an idle CPU is done once it is acknowledged, and so is what was for others. */
	cmpq	$AK_SPURIOUS, (%rsp)
	je	.Lacknowledged
	cmpq	$AK_EXTERNAL, (%rsp)
	jb	ak_dead
	pushq	%rax
	pushq	%rcx
	pushq	%rdx
	movq	ak_eoi_register(%rip), %rax
	testq	%rax, %rax
	jz	.Lx2apic
	movl	$0, (%rax)
	jmp	.Lrestore
.Lx2apic:
	movl	$0x80b, %ecx
	xorl	%eax, %eax
	xorl	%edx, %edx
	wrmsr
.Lrestore:
	popq	%rdx
	popq	%rcx
	popq	%rax
.Lacknowledged:
	addq	$16, %rsp
	iretq
SYM_CODE_END(ak_trap)

/* A fault of the module's own, or of the machine: the CPU is lost, CPU 0 says where. On the stack as above. */
SYM_CODE_START_LOCAL(ak_dead)
	popq	%rdi
	popq	%rsi
	popq	%rdx
	movq	%cr2, %rcx
	andq	$-16, %rsp
	cld
	call	ak_cpu_died
1:	cli
	hlt
	jmp	1b
SYM_CODE_END(ak_dead)

/* These have stacks of their own, wherever they come from. */
SYM_CODE_START(ak_double_fault)
	pushq	$X86_TRAP_DF
	jmp	ak_dead
SYM_CODE_END(ak_double_fault)

SYM_CODE_START(ak_machine_check)
	pushq	$0
	pushq	$X86_TRAP_MC
	jmp	ak_dead
SYM_CODE_END(ak_machine_check)

/* An NMI is counted, wherever it comes from: it has a stack of its own. */
SYM_CODE_START(ak_nmi)
	incq	ak_nmis(%rip)
	iretq
SYM_CODE_END(ak_nmi)

/* An entry of 16 bytes for each vector, so that all look alike: error code, vector. */
	.balign 16
SYM_CODE_START(ak_vectors)
	.Lvector = 0
	.rept	256
	.balign 16
	.if	(.Lvector == 8) || ((.Lvector >= 10) && (.Lvector <= 14)) || (.Lvector == 17) || \
		(.Lvector == 21) || (.Lvector == 29) || (.Lvector == 30)
	nop
	nop
	.else
	pushq	$0
	.endif
	pushq	$.Lvector
	jmp	ak_trap
	.Lvector = .Lvector + 1
	.endr
	.balign 16
SYM_CODE_END(ak_vectors)
