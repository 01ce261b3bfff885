// SPDX-License-Identifier: GPL-2.0-only
/*
 * What runs on a CPU that Linux does not know. It has no per-CPU data, so nothing here may use current,
 * printk(), locks, or anything that does. It only reads and writes its struct ak_cpu.
 */
#include <linux/objtool.h>
#include <uapi/linux/futex.h>
#include <asm/apic.h>
#include <asm/irq_vectors.h>
#include <asm/msr.h>
#include <asm/trapnr.h>
#include <asm/unistd.h>
#include "appkernel.h"
#include "fpu.h"

/* Looks at its state so often before it halts: a thread that only made a call is soon back. */
#define AK_SPINS 2000

static_assert(offsetof(struct ak_cpu, kernel_sp) == AK_KERNEL_SP);
static_assert(offsetof(struct ak_cpu, kernel_cr3) == AK_KERNEL_CR3);
static_assert(offsetof(struct ak_cpu, user_cr3) == AK_USER_CR3);
static_assert(offsetof(struct ak_cpu, vector) == AK_VECTOR);
static_assert(offsetof(struct ak_cpu, error) == AK_ERROR);
static_assert(offsetof(struct ak_cpu, scratch) == AK_SCRATCH);
static_assert(offsetof(struct ak_cpu, tss.sp0) == AK_REGS_END);
static_assert(sizeof(struct pt_regs) == AK_REGS_SIZE);
static_assert(FIRST_EXTERNAL_VECTOR == AK_EXTERNAL);
/* Assembly pushes them in their order. */
static_assert(offsetof(struct pt_regs, r15) == 0 && offsetof(struct pt_regs, di) == 112);
static_assert(offsetof(struct pt_regs, orig_ax) == 120 && offsetof(struct pt_regs, ip) == 128);

u64 ak_nmis;
/* NULL with x2APIC, whose registers are model-specific ones. */
u32 *ak_eoi_register;

static __always_inline u64 read_msr(u32 msr)
{
	u32 low, high;

	asm volatile("rdmsr" : "=a" (low), "=d" (high) : "c" (msr));
	return low | (u64)high << 32;
}

static __always_inline void write_msr(u32 msr, u64 value)
{
	asm volatile("wrmsr" : : "c" (msr), "a" ((u32)value), "d" ((u32)(value >> 32)) : "memory");
}

static __always_inline u64 cycles(void)
{
	u32 low, high;

	asm volatile("rdtsc" : "=a" (low), "=d" (high));
	return low | (u64)high << 32;
}

static __always_inline void load_page_table(u64 cr3)
{
	asm volatile("movq %0, %%cr3" : : "r" (cr3) : "memory");
}

/* Writes a register of this CPU's local APIC. */
static __always_inline void write_apic(u32 reg, u64 value)
{
	if (ak_eoi_register)
		WRITE_ONCE(*(u32 *)((char *)ak_eoi_register - APIC_EOI + reg), (u32)value);
	else
		write_msr(APIC_BASE_MSR + (reg >> 4), value);
}

/* Tells Linux that there is something to see. */
static __always_inline void interrupt_home(struct ak_cpu *cpu)
{
	u32 id = READ_ONCE(cpu->home_id);
	u32 low = APIC_DM_FIXED | POSTED_INTR_WAKEUP_VECTOR;

	if (ak_eoi_register) {
		write_apic(APIC_ICR2, id << 24);
		write_apic(APIC_ICR, low);
	} else {
		write_msr(APIC_BASE_MSR + (APIC_ICR >> 4), (u64)id << 32 | low);
	}
}

/* Can come from anywhere, so %gs says nothing: the CPU is found by its descriptor table. */
void ak_cpu_died(u64 vector, u64 error, u64 ip, u64 address)
{
	struct ak_cpu *cpu;
	struct desc_ptr idt;

	asm volatile("sidt %0" : "=m" (idt));
	cpu = container_of((gate_desc *)idt.address, struct ak_cpu, idt[0]);
	cpu->died[0] = vector;
	cpu->died[1] = error;
	cpu->died[2] = ip;
	cpu->died[3] = address;
	ak_set_state(cpu, AK_DEAD);
	interrupt_home(cpu);
}

static __always_inline void load_bases(struct ak_cpu *cpu)
{
	if (cpu->own_fsbase != cpu->fsbase) {
		write_msr(MSR_FS_BASE, cpu->fsbase);
		cpu->own_fsbase = cpu->fsbase;
	}
	if (cpu->own_gsbase != cpu->gsbase) {
		write_msr(MSR_KERNEL_GS_BASE, cpu->gsbase);
		cpu->own_gsbase = cpu->gsbase;
	}
}

/* What one process taught the CPU about its branches must not lead another one's. */
static __always_inline void forget_branches(struct ak_cpu *cpu)
{
	if (!cpu_feature_enabled(X86_FEATURE_IBPB) || cpu->last_cr3 == cpu->user_cr3)
		return;
	cpu->last_cr3 = cpu->user_cr3;
	write_msr(MSR_IA32_PRED_CMD, PRED_CMD_IBPB);
}

/*
 * Whether Linux would do nothing at a system call but the call. All is read as the call is made, as Linux does:
 * what another CPU changes meanwhile holds from the next call on.
 */
static __always_inline bool is_unwatched(struct ak_cpu *cpu)
{
	/* seccomp, ptrace, audit, user dispatch: each has its bit. The tracepoint's is there for ours. */
	if (READ_ONCE(*cpu->syscall_work) & ~(unsigned long)SYSCALL_WORK_SYSCALL_TRACEPOINT)
		return false;
	return READ_ONCE(*ak_probes[0].called) == ak_probes[0].own &&
	       READ_ONCE(*ak_probes[1].called) == ak_probes[1].own;
}

/*
 * Linux with SMP interrupts all CPUs of the machine at once where it can, those that it took offline, too, which
 * then are ours: what is for others is acknowledged, or nothing of the same rank would come any more.
 */
static __always_inline bool is_of_others(struct ak_cpu *cpu)
{
	if (cpu->vector < AK_EXTERNAL || cpu->vector == AK_KICK)
		return false;
	if (cpu->vector != AK_SPURIOUS)
		write_apic(APIC_EOI, 0);
	return true;
}

/*
 * Looks at a futex for a while before its thread waits for it in Linux: true if it has another value by then.
 * Whoever wants the thread, or its CPU, is heard meanwhile. What is not there is Linux's to answer.
 */
static __always_inline bool changes(struct ak_cpu *cpu, u64 futex, u32 expected)
{
	u64 until = cycles() + READ_ONCE(ak_wait), value;

	load_page_table(cpu->user_cr3);
	do {
		value = ak_peek(futex);
		if (value != expected)
			break;
		asm volatile("pause");
	} while (!atomic_read(&cpu->recalled) && !ak_threads_wait() && cycles() < until);
	load_page_table(cpu->kernel_cr3);
	return value != expected && value <= U32_MAX;
}

/* Whether nobody waits at a futex, whose value the thread wrote before: who begins to wait sees that. */
static __always_inline bool is_deserted(struct ak_cpu *cpu, u64 futex)
{
	/* Pairs with that of ak_futex_enter(). */
	asm volatile("mfence" : : : "memory");
	return READ_ONCE(cpu->mm->seen) && !atomic_read(ak_sleepers(cpu->mm, futex));
}

/* Whether a futex operation is answered here, and with what. */
static __always_inline bool answers_futex(struct ak_cpu *cpu, struct pt_regs *regs, long *result)
{
	u32 operation = regs->si, bits = regs->r9;

	/* What Linux gives an error for. */
	if (regs->di % sizeof(u32) || regs->di >= TASK_SIZE_MAX)
		return false;
	switch (operation) {
	case FUTEX_WAKE_BITSET_PRIVATE:
		if (!bits)
			return false;
		fallthrough;
	case FUTEX_WAKE_PRIVATE:
		*result = 0;
		return is_deserted(cpu, regs->di);
	case FUTEX_WAIT_BITSET_PRIVATE:
	case FUTEX_WAIT_BITSET_PRIVATE | FUTEX_CLOCK_REALTIME:
		if (!bits)
			return false;
		fallthrough;
	case FUTEX_WAIT_PRIVATE:
		*result = -EAGAIN;
		/* Not those that end at a time: that is in their arguments, and would be later. */
		return !regs->r10 && changes(cpu, regs->di, regs->dx);
	default:
		return false;
	}
}

/*
 * Answers a system call where the thread is, if that is asked for and nothing can tell it from Linux's answer:
 *
 * - getpid(2), gettid(2): numbers of the thread in the namespace that it was born into. Only execve(2) gives it
 *   others, and before it leaves after that, they are read anew.
 * - sched_yield(2): on a CPU where no other thread runs it does nothing. If one waits for a CPU, it goes home,
 *   where this one is given away.
 * - futex(2), to wake whoever waits at a private futex: nobody does, as Linux would find.
 * - futex(2), to wait at one that has another value soon: the call came a moment later, when it had. So may any call,
 *   and a wake in that moment is one before it. It can be at most so late as a CPU looks at a futex.
 *
 * None of them changes anything, or can be interrupted: a signal is an interrupt in user mode, before
 * the next instruction. As after the instruction syscall, %rcx and %r11 are the return address and the flags.
 * Only who traces the functions of these calls in the kernel (kprobes, ftrace) does not see them.
 */
static __always_inline bool is_answered(struct ak_cpu *cpu, struct pt_regs *regs, long *result)
{
	switch (regs->ax) {
	case __NR_getpid:
		*result = cpu->tgid;
		return true;
	case __NR_gettid:
		*result = cpu->pid;
		return true;
	case __NR_sched_yield:
		*result = 0;
		return !ak_threads_wait();
	case __NR_futex:
		return answers_futex(cpu, regs, result);
	default:
		return false;
	}
}

/* Whether the thread goes on here: its call was answered, or it came for nothing of its own. */
static __always_inline bool answers(struct ak_cpu *cpu)
{
	struct pt_regs *regs = (struct pt_regs *)cpu->tss.sp0 - 1;
	long result;

	if (cpu->vector != AK_SYSCALL)
		return is_of_others(cpu);
	if (!cpu->syscall_work || !is_unwatched(cpu) || !is_answered(cpu, regs, &result))
		return false;
	regs->ax = result;
	cpu->answered++;
	return true;
}

/* Tells the thread's context on CPU 0 that it may go on. */
static __always_inline void finish(struct ak_cpu *cpu)
{
	ak_set_state(cpu, AK_DONE);
	/* The state is seen before the flag is read; the waiter does it the other way round. */
	asm volatile("mfence" : : : "memory");
	if (READ_ONCE(cpu->waiter))
		interrupt_home(cpu);
}

/* Clears memory that the thread is about to get: what it writes next is then in the caches of its CPU. */
static __always_inline void clear(struct ak_cpu *cpu)
{
	u64 words = cpu->clear_size / sizeof(u64);
	void *at = cpu->clear;

	asm volatile("rep stosq" : "+D" (at), "+c" (words) : "a" (0) : "memory");
	cpu->cleared++;
	finish(cpu);
}

/* Runs the thread until it comes back, and tells its context on CPU 0. */
static __always_inline void run(struct ak_cpu *cpu)
{
	u64 began;

	load_bases(cpu);
	if (atomic_read(&cpu->recalled)) {
		cpu->vector = AK_KICK;
		goto done;
	}
	forget_branches(cpu);
	ak_restore_fpu(cpu);
	cpu->runs++;
	began = cycles();

	do
		ak_enter_user(cpu);
	while (answers(cpu));

	cpu->cycles = cycles() - began;
	cpu->user_cycles += cpu->cycles;
	cpu->own_fsbase = read_msr(MSR_FS_BASE);
	cpu->own_gsbase = read_msr(MSR_KERNEL_GS_BASE);
	ak_save_fpu(cpu);
	if (cpu->vector == X86_TRAP_PF)
		asm volatile("movq %%cr2, %0" : "=r" (cpu->fault_address));
	else if (cpu->vector == AK_KICK)
		write_apic(APIC_EOI, 0);
done:
	finish(cpu);
}

/* Waits until there is something to do; gives the state then. */
static __always_inline int wait(struct ak_cpu *cpu)
{
	int state;

	for (int spins = 0; spins < AK_SPINS; spins++) {
		state = ak_state(cpu);
		if (state >= AK_STOP)
			return state;
		asm volatile("pause");
	}
	for (;;) {
		WRITE_ONCE(cpu->halted, 1);
		asm volatile("mfence" : : : "memory");
		state = ak_state(cpu);
		if (state >= AK_STOP)
			break;
		/* An interrupt is taken after hlt at the earliest, so none is missed. */
		asm volatile("sti; hlt; cli" : : : "memory");
	}
	WRITE_ONCE(cpu->halted, 0);
	return state;
}

static __always_inline void load_tables(struct ak_cpu *cpu)
{
	struct desc_ptr gdt = { sizeof(cpu->gdt) - 1, (unsigned long)cpu->gdt };
	struct desc_ptr idt = { sizeof(cpu->idt) - 1, (unsigned long)cpu->idt };
	unsigned long code;

	asm volatile("lgdt %0" : : "m" (gdt));
	asm volatile("lidt %0" : : "m" (idt));
	asm volatile("pushq %1\n\t"
		     "leaq 1f(%%rip), %0\n\t"
		     "pushq %0\n\t"
		     "lretq\n"
		     "1:"
		     : "=&r" (code) : "i" (__KERNEL_CS) : "memory");
	asm volatile("movl %0, %%ds; movl %0, %%es; movl %0, %%ss" : : "r" (__KERNEL_DS));
	asm volatile("movl %0, %%fs; movl %0, %%gs" : : "r" (0));
	asm volatile("ltr %w0" : : "r" (GDT_ENTRY_TSS * 8));
	/* After a reset there is one at address 0, which user space can map. */
	asm volatile("lldt %w0" : : "r" (0));
}

/**
 * ak_cpu_main - where a CPU goes once it is in long mode
 * @cpu: itself
 *
 * Does not return: a CPU that was told to stop waits for the INIT that follows.
 */
noinline void ak_cpu_main(struct ak_cpu *cpu)
{
	int state;

	load_tables(cpu);
	asm volatile("movq %0, %%cr0" : : "r" (cpu->cr0) : "memory");
	asm volatile("movq %0, %%cr4" : : "r" (cpu->cr4) : "memory");
	load_page_table(cpu->kernel_cr3);
	write_msr(MSR_IA32_CR_PAT, cpu->pat);
	write_msr(MSR_EFER, cpu->efer);
	write_msr(MSR_STAR, cpu->star);
	write_msr(MSR_LSTAR, (u64)ak_syscall_entry);
	write_msr(MSR_SYSCALL_MASK, cpu->syscall_mask);
	/* Where Linux had the CPU before, these are still its own. */
	write_msr(MSR_IA32_SYSENTER_CS, 0);
	write_msr(MSR_IA32_SYSENTER_ESP, 0);
	write_msr(MSR_IA32_SYSENTER_EIP, 0);
	if (cpu_feature_enabled(X86_FEATURE_RDTSCP) || cpu_feature_enabled(X86_FEATURE_RDPID))
		write_msr(MSR_TSC_AUX, 0);
	if (cpu_feature_enabled(X86_FEATURE_MSR_SPEC_CTRL))
		write_msr(MSR_IA32_SPEC_CTRL, cpu->spec_ctrl);
	write_msr(MSR_GS_BASE, (u64)cpu);
	cpu->own_fsbase = read_msr(MSR_FS_BASE);
	cpu->own_gsbase = read_msr(MSR_KERNEL_GS_BASE);
	if (cpu->xcr0)
		asm volatile("xsetbv" : : "c" (0), "a" ((u32)cpu->xcr0), "d" ((u32)(cpu->xcr0 >> 32)));
	if (cpu_feature_enabled(X86_FEATURE_XSAVES))
		write_msr(MSR_IA32_XSS, cpu->xss);
	if (cpu_feature_enabled(X86_FEATURE_XFD))
		write_msr(MSR_IA32_XFD, cpu->xfd);
	write_msr(MSR_IA32_APICBASE, cpu->apic_base);
	write_apic(APIC_SPIV, APIC_SPIV_APIC_ENABLED | AK_SPURIOUS);
	write_apic(APIC_TASKPRI, 0);
	ak_set_state(cpu, AK_IDLE);

	while ((state = wait(cpu)) != AK_STOP) {
		if (state == AK_RUN)
			run(cpu);
		else
			clear(cpu);
	}

	ak_set_state(cpu, AK_OFFLINE);
	for (;;)
		asm volatile("cli; hlt" : : : "memory");
}

/* It reloads its code segment, by a far return. */
STACK_FRAME_NON_STANDARD(ak_cpu_main);
