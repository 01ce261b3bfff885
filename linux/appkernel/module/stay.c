// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stay elsewhere. A thread of Linux leaves from its own context, on its way to user mode: a task work hands
 * its registers to a CPU and sleeps. Whatever brings the thread back into the kernel brings the registers
 * back, and Linux goes on as if user mode had run here: it executes the system call, takes the fault, delivers
 * the signal. What is not supported simply runs here.
 */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/rseq.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/fpu/api.h>
#include <asm/mmu.h>
#include <asm/msr.h>
#include <asm/trap_pf.h>
#include <asm/trapnr.h>
#include "appkernel.h"

/* So many short stays in a row make a thread one that lives in the kernel. */
#define AK_SHORT_RUNS 16

/* What these flags stand for happens on CPU 0 only. */
#define AK_HOME_FLAGS \
	(_TIF_SINGLESTEP | _TIF_BLOCKSTEP | _TIF_NOTSC | _TIF_NOCPUID | _TIF_IO_BITMAP | _TIF_UPROBE)

/* What a CPU of ours does not carry over, or answers in another way than CPU 0. */
static bool is_unsupported(struct pt_regs *regs)
{
	struct thread_struct *thread = &current->thread;
	u16 fs, gs;

	savesegment(fs, fs);
	savesegment(gs, gs);
	if (regs->cs != __USER_CS || regs->ss != __USER_DS || fs || gs)
		return true;
	if (regs->flags & X86_EFLAGS_TF)
		return true;
	/* Breakpoints are enabled in the last. */
	if ((read_thread_flags() & AK_HOME_FLAGS) || thread->iopl_emul || thread->ptrace_dr7)
		return true;
#ifdef CONFIG_MODIFY_LDT_SYSCALL
	if (current->mm->context.ldt)
		return true;
#endif
#ifdef CONFIG_X86_INTEL_MEMORY_PROTECTION_KEYS
	if (current->mm->context.pkey_allocation_map & ~1)
		return true;
#endif
#ifdef CONFIG_X86_USER_SHADOW_STACK
	if (thread->features & ARCH_SHSTK_SHSTK)
		return true;
#endif
	/* Registers that the program asked for are elsewhere. */
	return thread->fpu.fpstate != &thread->fpu.__fpstate;
}

/*
 * The thread runs beside others of CPU 0, so the number of a CPU says nothing of who runs meanwhile: the
 * program is told that there is none. On the way back Linux writes it anew.
 */
static bool leave_rseq(void)
{
#ifdef CONFIG_RSEQ
	u64 section;

	if (!current->rseq)
		return true;
	if (get_user(section, &current->rseq->rseq_cs) || section)
		return false;
	if (put_user((u32)RSEQ_CPU_ID_UNINITIALIZED, &current->rseq->cpu_id))
		return false;
	rseq_migrate(current);
#endif
	return true;
}

/* The record of the address space that the thread has now: execve(2) gives it another. */
static struct ak_mm *current_mm(struct ak_thread *thread)
{
	struct ak_mm *mm;

	if (thread->mm && thread->mm->notifier.mm == current->mm)
		return thread->mm;
	mm = ak_mm_get(current->mm);
	if (IS_ERR(mm))
		return NULL;
	if (thread->mm)
		ak_mm_put(thread->mm);
	thread->mm = mm;
	return mm;
}

static bool may_leave(struct ak_thread *thread, struct pt_regs *regs)
{
	struct ak_mm *mm;

	if (signal_pending(current) || !current->mm)
		return false;
	mm = current_mm(thread);
	if (mm && !READ_ONCE(mm->home) && !is_unsupported(regs) && leave_rseq())
		return true;
	ak_counts.unsupported++;
	return false;
}

/*
 * Waits until no range of the address space is being changed. False if a signal came first, or if the process has
 * to stay here.
 */
static bool start_user(struct ak_cpu *cpu)
{
	struct ak_mm *mm = cpu->mm;
	unsigned long flags;

	for (;;) {
		spin_lock_irqsave(&mm->lock, flags);
		if (mm->home) {
			spin_unlock_irqrestore(&mm->lock, flags);
			return false;
		}
		if (!mm->holds) {
			ak_set_state(cpu, AK_RUN);
			spin_unlock_irqrestore(&mm->lock, flags);
			break;
		}
		spin_unlock_irqrestore(&mm->lock, flags);
		if (wait_event_interruptible(mm->released, !READ_ONCE(mm->holds)))
			return false;
	}
	/* The state is seen before the flag is read; the CPU does it the other way round. */
	mb();
	if (READ_ONCE(cpu->halted))
		ak_kick(cpu);
	return true;
}

/* Waits until the thread came back, or takes it away: for a signal, or when its time is over. */
static void await_thread(struct ak_cpu *cpu)
{
	while (ak_poll && ak_runs(cpu) && !signal_pending(current)) {
		cpu_relax();
		cond_resched();
	}
	while (ak_runs(cpu)) {
		bool over;

		set_current_state(TASK_INTERRUPTIBLE);
		WRITE_ONCE(cpu->sleeping, 1);
		/* The CPU sets its state first, and reads the flag then. */
		mb();
		if (!ak_runs(cpu))
			break;
		over = !schedule_timeout(msecs_to_jiffies(ak_slice_ms) + 1) && ak_threads_wait();
		__set_current_state(TASK_RUNNING);
		if (ak_runs(cpu) && (over || signal_pending(current)))
			ak_recall(cpu);
	}
	__set_current_state(TASK_RUNNING);
	WRITE_ONCE(cpu->sleeping, 0);
}

static u64 base_of(u32 msr)
{
	u64 base;

	rdmsrl(msr, base);
	return base;
}

static void set_base(u32 msr, unsigned long *saved, u64 base)
{
	if (base == base_of(msr))
		return;
	wrmsrl(msr, base);
	*saved = base;
}

/* Time elsewhere is the thread's user time; like the tick, it counts what it falls into. */
static void account(unsigned long ticks)
{
	unsigned long flags;

	if (!ticks)
		return;
	local_irq_save(flags);
	current->utime += ticks * TICK_NSEC;
	current->se.sum_exec_runtime += ticks * TICK_NSEC;
	local_irq_restore(flags);
}

/* One stay in user mode elsewhere. False if there was none, or the CPU was lost. */
static bool run(struct ak_cpu *cpu, struct pt_regs *regs)
{
	unsigned long began = jiffies;

	/* Saves the thread's own, too. */
	kernel_fpu_begin();
	kernel_fpu_end();
	cpu->fpu = &current->thread.fpu.fpstate->regs;
	cpu->regs = *regs;
	cpu->user_cr3 = __pa(current->mm->pgd);
	cpu->fsbase = base_of(MSR_FS_BASE);
	cpu->gsbase = base_of(MSR_KERNEL_GS_BASE);
	if (!start_user(cpu))
		return false;
	ak_counts.left++;
	await_thread(cpu);
	/* The state is read with acquire: what the CPU wrote before it is there. */
	if (cpu->state != AK_DONE)
		return false;
	*regs = cpu->regs;
	/* Nothing to restart: a system call that was under way has ended. */
	regs->orig_ax = -1;
	set_base(MSR_FS_BASE, &current->thread.fsbase, cpu->fsbase);
	set_base(MSR_KERNEL_GS_BASE, &current->thread.gsbase, cpu->gsbase);
	account(jiffies - began);
	return true;
}

/* The thread executes the instruction again, here: so the call is Linux's own in every respect. */
static void came_for_call(struct ak_thread *thread, struct ak_cpu *cpu, struct pt_regs *regs)
{
	cpu->calls++;
	regs->ip -= 2;
	thread->short_runs = cpu->cycles < ak_burst ? thread->short_runs + 1 : 0;
	if (thread->short_runs >= AK_SHORT_RUNS) {
		thread->short_runs = 0;
		thread->calls_at_home = ak_calls_at_home;
		thread->calls_seen = ak_calls_at_home + 1;
		ak_counts.call_bound++;
		ak_thread_waits(thread);
	}
}

/* True if the thread can go on elsewhere. What fails, fails here once more, and Linux says how. */
static bool came_for_fault(struct ak_cpu *cpu)
{
	struct mm_struct *mm = current->mm;
	bool write = cpu->error & X86_PF_WRITE, unlocked = false;
	unsigned long address = cpu->fault_address;
	int error;

	cpu->faults++;
	if (cpu->error & ~(u64)(X86_PF_PROT | X86_PF_WRITE | X86_PF_USER | X86_PF_INSTR))
		return false;
	if ((cpu->error & X86_PF_PROT) && !write)
		return false;
	if (address >= TASK_SIZE_MAX)
		return false;
	mmap_read_lock(mm);
	error = fixup_user_fault(mm, address & PAGE_MASK, write ? FAULT_FLAG_WRITE : 0, &unlocked);
	mmap_read_unlock(mm);
	/* What fails is counted when it is repeated. */
	if (!error)
		current->min_flt++;
	return !error;
}

/* A breakpoint is reported behind its instruction; here it is executed again. */
static void back_to_breakpoint(struct pt_regs *regs)
{
	u8 code;

	if (!get_user(code, (u8 __user *)(regs->ip - 1)) && code == 0xcc)
		regs->ip -= 1;
	else
		regs->ip -= 2;
}

/* True if the thread can go on elsewhere. */
static bool came_back(struct ak_thread *thread, struct ak_cpu *cpu, struct pt_regs *regs)
{
	switch (cpu->vector) {
	case AK_SYSCALL:
		came_for_call(thread, cpu, regs);
		return false;
	case X86_TRAP_PF:
		return came_for_fault(cpu);
	case AK_KICK:
		cpu->kicks++;
		/* Another's turn, if there is one. */
		return !ak_threads_wait();
	case X86_TRAP_BP:
		back_to_breakpoint(regs);
		fallthrough;
	default:
		cpu->others++;
		return false;
	}
}

static void lose(struct ak_cpu *cpu)
{
	pr_err("CPU %u is lost: vector %llu, error code %#llx at %pS, address %#llx\n", cpu->index,
	       cpu->died[0], cpu->died[1], (void *)cpu->died[2], cpu->died[3]);
	force_sig(SIGBUS);
}

/**
 * ak_thread_leave - runs a thread elsewhere until it is needed here
 * @thread: the current thread, on its way to user mode
 */
void ak_thread_leave(struct ak_thread *thread)
{
	struct pt_regs *regs = task_pt_regs(current);
	bool called = false;
	struct ak_cpu *cpu;

	if (!may_leave(thread, regs))
		return;
	cpu = ak_cpu_take(thread);
	if (!cpu) {
		ak_counts.no_cpu++;
		ak_thread_waits(thread);
		return;
	}
	while (!signal_pending(current)) {
		if (!run(cpu, regs)) {
			if (cpu->state == AK_DEAD)
				lose(cpu);
			break;
		}
		called = cpu->vector == AK_SYSCALL;
		if (!came_back(thread, cpu, regs))
			break;
	}
	ak_cpu_give(cpu);
	/* A call leads to the hook behind calls; what came home for anything else has to be remembered. */
	if (!called)
		ak_thread_waits(thread);
}
