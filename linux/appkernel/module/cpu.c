// SPDX-License-Identifier: GPL-2.0-only
/*
 * What runs on a CPU that Linux does not know. It has no per-CPU data, so nothing here may use current,
 * printk(), locks, or anything that does. It only reads and writes its struct ak_cpu.
 */
#include <linux/objtool.h>
#include <asm/apic.h>
#include <asm/fpu/types.h>
#include <asm/fpu/xcr.h>
#include <asm/msr.h>
#include "appkernel.h"

/* Looks at its state so often before it halts: a thread that only made a call is soon back. */
#define AK_SPINS 2000

static_assert(offsetof(struct ak_cpu, kernel_sp) == AK_KERNEL_SP);
static_assert(offsetof(struct ak_cpu, kernel_cr3) == AK_KERNEL_CR3);
static_assert(offsetof(struct ak_cpu, user_cr3) == AK_USER_CR3);
static_assert(offsetof(struct ak_cpu, vector) == AK_VECTOR);
static_assert(offsetof(struct ak_cpu, error) == AK_ERROR);
static_assert(offsetof(struct ak_cpu, regs) == AK_REGS);
static_assert(offsetof(struct pt_regs, r15) == 0);
static_assert(offsetof(struct pt_regs, di) == AK_DI - AK_REGS);
static_assert(offsetof(struct pt_regs, ip) == AK_IP - AK_REGS);
static_assert(offsetof(struct pt_regs, ss) == AK_SS - AK_REGS);

u64 ak_nmis;
/* NULL with x2APIC, whose registers are model-specific ones. */
u32 *ak_eoi_register;
/* CPU 0's number in the machine. */
u32 ak_home_id;

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

/* Writes a register of this CPU's local APIC. */
static __always_inline void write_apic(u32 reg, u64 value)
{
	if (ak_eoi_register)
		WRITE_ONCE(*(u32 *)((char *)ak_eoi_register - APIC_EOI + reg), (u32)value);
	else
		write_msr(APIC_BASE_MSR + (reg >> 4), value);
}

/* Tells CPU 0 that there is something to see. */
static __always_inline void interrupt_cpu_0(void)
{
	u32 low = APIC_DM_FIXED | POSTED_INTR_WAKEUP_VECTOR;

	if (ak_eoi_register) {
		write_apic(APIC_ICR2, ak_home_id << 24);
		write_apic(APIC_ICR, low);
	} else {
		write_msr(APIC_BASE_MSR + (APIC_ICR >> 4), (u64)ak_home_id << 32 | low);
	}
}

/* All but protection keys, which Linux carries apart; threads with these stay on CPU 0. */
#define AK_FPU_MASK "a" (~(u32)XFEATURE_MASK_PKRU), "d" (-1)

static __always_inline void restore_fpu(struct ak_cpu *cpu)
{
	if (!cpu->xcr0)
		asm volatile("fxrstor64 (%0)" : : "r" (cpu->fpu) : "memory");
	else if (cpu_feature_enabled(X86_FEATURE_XSAVES))
		asm volatile("xrstors64 (%0)" : : "r" (cpu->fpu), AK_FPU_MASK : "memory");
	else
		asm volatile("xrstor64 (%0)" : : "r" (cpu->fpu), AK_FPU_MASK : "memory");
}

static __always_inline void save_fpu(struct ak_cpu *cpu)
{
	if (!cpu->xcr0)
		asm volatile("fxsave64 (%0)" : : "r" (cpu->fpu) : "memory");
	else if (cpu_feature_enabled(X86_FEATURE_XSAVES))
		asm volatile("xsaves64 (%0)" : : "r" (cpu->fpu), AK_FPU_MASK : "memory");
	else
		asm volatile("xsave64 (%0)" : : "r" (cpu->fpu), AK_FPU_MASK : "memory");
}

void ak_cpu_died(u64 vector, u64 error, u64 ip, u64 address)
{
	struct ak_cpu *cpu = (struct ak_cpu *)read_msr(MSR_GS_BASE);

	cpu->died[0] = vector;
	cpu->died[1] = error;
	cpu->died[2] = ip;
	cpu->died[3] = address;
	ak_set_state(cpu, AK_DEAD);
	interrupt_cpu_0();
}

/* Runs the thread until it comes back, and tells its context on CPU 0. */
static __always_inline void run(struct ak_cpu *cpu)
{
	u64 began;

	if (READ_ONCE(cpu->recalled)) {
		cpu->vector = AK_KICK;
		goto done;
	}
	restore_fpu(cpu);
	write_msr(MSR_FS_BASE, cpu->fsbase);
	write_msr(MSR_KERNEL_GS_BASE, cpu->gsbase);
	cpu->runs++;
	began = cycles();

	ak_enter_user(cpu);

	cpu->cycles = cycles() - began;
	cpu->user_cycles += cpu->cycles;
	asm volatile("movq %%cr2, %0" : "=r" (cpu->fault_address));
	cpu->fsbase = read_msr(MSR_FS_BASE);
	cpu->gsbase = read_msr(MSR_KERNEL_GS_BASE);
	save_fpu(cpu);
	if (cpu->vector == AK_KICK)
		write_apic(APIC_EOI, 0);
done:
	ak_set_state(cpu, AK_DONE);
	/* The state is seen before the flag is read; the waiter does it the other way round. */
	asm volatile("mfence" : : : "memory");
	if (READ_ONCE(cpu->sleeping))
		interrupt_cpu_0();
}

/* Waits until there is something to do; gives the state then. */
static __always_inline int wait(struct ak_cpu *cpu)
{
	int state;

	for (int spins = 0; spins < AK_SPINS; spins++) {
		state = ak_state(cpu);
		if (state == AK_RUN || state == AK_STOP)
			return state;
		asm volatile("pause");
	}
	for (;;) {
		WRITE_ONCE(cpu->halted, 1);
		asm volatile("mfence" : : : "memory");
		state = ak_state(cpu);
		if (state == AK_RUN || state == AK_STOP)
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
}

/**
 * ak_cpu_main - where a CPU goes once it is in long mode
 * @cpu: itself
 *
 * Does not return: a CPU that was told to stop waits for the INIT that follows.
 */
noinline void ak_cpu_main(struct ak_cpu *cpu)
{
	load_tables(cpu);
	asm volatile("movq %0, %%cr0" : : "r" (cpu->cr0) : "memory");
	asm volatile("movq %0, %%cr4" : : "r" (cpu->cr4) : "memory");
	asm volatile("movq %0, %%cr3" : : "r" (cpu->kernel_cr3) : "memory");
	write_msr(MSR_IA32_CR_PAT, cpu->pat);
	write_msr(MSR_EFER, cpu->efer);
	write_msr(MSR_STAR, cpu->star);
	write_msr(MSR_LSTAR, (u64)ak_syscall_entry);
	write_msr(MSR_SYSCALL_MASK, cpu->syscall_mask);
	write_msr(MSR_GS_BASE, (u64)cpu);
	if (cpu->xcr0)
		asm volatile("xsetbv" : : "c" (0), "a" ((u32)cpu->xcr0), "d" ((u32)(cpu->xcr0 >> 32)));
	write_msr(MSR_IA32_APICBASE, cpu->apic_base);
	write_apic(APIC_SPIV, APIC_SPIV_APIC_ENABLED | AK_SPURIOUS);
	write_apic(APIC_TASKPRI, 0);
	ak_set_state(cpu, AK_IDLE);

	while (wait(cpu) == AK_RUN)
		run(cpu);

	ak_set_state(cpu, AK_OFFLINE);
	for (;;)
		asm volatile("cli; hlt" : : : "memory");
}

/* It reloads its code segment, by a far return. */
STACK_FRAME_NON_STANDARD(ak_cpu_main);
