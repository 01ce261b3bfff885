/* SPDX-License-Identifier: GPL-2.0-only */
/* Into user mode and back, on a CPU of the module. */
#include <linux/linkage.h>
#include <asm/nospec-branch.h>
#include "layout.h"

	.text
	.code64

.macro SAVE_USER_REGISTERS
	movq	%rax, %gs:AK_AX
	movq	%rbx, %gs:AK_BX
	movq	%rcx, %gs:AK_CX
	movq	%rdx, %gs:AK_DX
	movq	%rsi, %gs:AK_SI
	movq	%rdi, %gs:AK_DI
	movq	%rbp, %gs:AK_BP
	movq	%r8, %gs:AK_R8
	movq	%r9, %gs:AK_R9
	movq	%r10, %gs:AK_R10
	movq	%r11, %gs:AK_R11
	movq	%r12, %gs:AK_R12
	movq	%r13, %gs:AK_R13
	movq	%r14, %gs:AK_R14
	movq	%r15, %gs:AK_R15
.endm

/*
 * void ak_enter_user(struct ak_cpu *cpu): runs the registers in cpu->regs in the address space
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

	pushq	AK_SS(%rdi)
	pushq	AK_SP(%rdi)
	pushq	AK_FLAGS(%rdi)
	pushq	AK_CS(%rdi)
	pushq	AK_IP(%rdi)
	movq	AK_R15(%rdi), %r15
	movq	AK_R14(%rdi), %r14
	movq	AK_R13(%rdi), %r13
	movq	AK_R12(%rdi), %r12
	movq	AK_R11(%rdi), %r11
	movq	AK_R10(%rdi), %r10
	movq	AK_R9(%rdi), %r9
	movq	AK_R8(%rdi), %r8
	movq	AK_BP(%rdi), %rbp
	movq	AK_BX(%rdi), %rbx
	movq	AK_AX(%rdi), %rax
	movq	AK_CX(%rdi), %rcx
	movq	AK_DX(%rdi), %rdx
	movq	AK_SI(%rdi), %rsi
	movq	AK_DI(%rdi), %rdi
	swapgs
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

/* Where the instruction syscall leads: no stack yet, the return address in %rcx, flags in %r11. */
SYM_CODE_START(ak_syscall_entry)
	swapgs
	SAVE_USER_REGISTERS
	movq	%rsp, %gs:AK_SP
	movq	%rcx, %gs:AK_IP
	movq	%r11, %gs:AK_FLAGS
	movq	$AK_SYSCALL, %gs:AK_VECTOR
	jmp	ak_leave_user
SYM_CODE_END(ak_syscall_entry)

/* On the stack: vector, error code, and what the CPU pushed: ip, cs, flags, sp, ss. */
SYM_CODE_START_LOCAL(ak_trap)
	testb	$3, 24(%rsp)
	jz	.Lfrom_kernel
	swapgs
	SAVE_USER_REGISTERS
	popq	%gs:AK_VECTOR
	popq	%gs:AK_ERROR
	popq	%gs:AK_IP
	popq	%gs:AK_CS
	popq	%gs:AK_FLAGS
	popq	%gs:AK_SP
	popq	%gs:AK_SS
	jmp	ak_leave_user

.Lfrom_kernel:
	/* A kick that met an idle CPU is done once it is acknowledged. */
	cmpq	$AK_SPURIOUS, (%rsp)
	je	.Lacknowledged
	cmpq	$AK_KICK, (%rsp)
	jne	.Ldead
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

.Ldead:
	/* A fault of the module's own: the CPU is lost, CPU 0 says where. */
	popq	%rdi
	popq	%rsi
	popq	%rdx
	movq	%cr2, %rcx
	andq	$-16, %rsp
	call	ak_cpu_died
1:	cli
	hlt
	jmp	1b
SYM_CODE_END(ak_trap)

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
