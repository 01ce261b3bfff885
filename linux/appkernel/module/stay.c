// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stay elsewhere. A thread of Linux leaves from its own context, on its way to user mode: a task work hands
 * its registers to a CPU and sleeps. Whatever brings the thread back into the kernel brings the registers
 * back, and Linux goes on as if user mode had run here: it executes the system call, takes the fault, delivers
 * the signal. What is not supported simply runs here.
 */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/jiffies.h>
#include <linux/rseq.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>
#include <asm/mmu.h>
#include <asm/msr.h>
#include <asm/trapnr.h>
#include <asm/unistd.h>
#include "appkernel.h"
#include "fpu.h"

/* After so many calls it is looked at whether a thread lives in the kernel. */
#define AK_CALLS 16

/* And it stays on CPU 0 twice as long each time, up to so many times, as long as it goes on like that. */
#define AK_PATIENCE 5U

/* What these flags stand for happens on CPU 0 only. */
#define AK_HOME_FLAGS \
	(_TIF_SINGLESTEP | _TIF_BLOCKSTEP | _TIF_NOTSC | _TIF_NOCPUID | _TIF_IO_BITMAP | _TIF_UPROBE | \
	 _TIF_SSBD | _TIF_SPEC_IB)

/* What a CPU of ours does not carry over, or answers in another way than CPU 0. */
static __always_inline bool is_unsupported(struct pt_regs *regs)
{
	struct thread_struct *thread = &current->thread;
	u16 fs, gs;

	savesegment(fs, fs);
	savesegment(gs, gs);
	if (regs->cs != __USER_CS || regs->ss != __USER_DS || fs || gs)
		return true;
	/* A return to no address at all is one that the kernel must survive. */
	if (regs->flags & X86_EFLAGS_TF || regs->ip >= TASK_SIZE_MAX)
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
#ifdef CONFIG_POSIX_TIMERS
	/* Timers and limits of CPU time are looked at by the tick, which does not see a thread elsewhere. */
	if (READ_ONCE(current->signal->posix_cputimers.timers_active))
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
	struct ak_mm *mm, *old;

	if (thread->mm && thread->mm->notifier.mm == current->mm)
		return thread->mm;
	mm = ak_mm_get(current->mm);
	if (IS_ERR(mm))
		return NULL;
	old = thread->mm;
	/* Others may look for it: see ak_mm_find(). */
	WRITE_ONCE(thread->mm, mm);
	if (old)
		ak_mm_put(old);
	return mm;
}

/*
 * Task works run on the way to user mode, and at some places within a system call, too: before a traced thread
 * stops, when a frozen one wakes, when io_uring waits, and when a virtual machine is entered. A call that has
 * not ended has the result that the entry of system calls set; so has one that does not exist, which does no
 * harm.
 */
static bool is_within_call(struct pt_regs *regs)
{
	long result = regs->ax;

	if (current->ptrace || READ_ONCE(current->jobctl) & (JOBCTL_PENDING_MASK | JOBCTL_TRAP_FREEZE))
		return true;
	if (regs->orig_ax == -1)
		return false;
	/* A call that is to be restarted, or given up, still has to be, and a mask of signals put back. */
	return result == -ENOSYS || (result <= -ERESTARTSYS && result >= -ERESTART_RESTARTBLOCK) ||
	       test_restore_sigmask();
}

static bool may_leave(struct ak_thread *thread, struct pt_regs *regs)
{
	struct ak_mm *mm;

	if (!current->mm)
		return false;
	if (signal_pending(current) || is_within_call(regs)) {
		ak_thread_waits(thread);
		return false;
	}
	/* Whatever comes of it: a process that is to stay here is remembered by its record. */
	mm = current_mm(thread);
	if (READ_ONCE(ak_reclaiming)) {
		ak_thread_waits(thread);
		return false;
	}
	if (mm && !READ_ONCE(mm->home) && !is_unsupported(regs) && leave_rseq())
		return true;
	ak_counts.unsupported++;
	return false;
}

/*
 * Between these a stay begins, or not. Another CPU of Linux's that wants none sees that one may be about to begin,
 * and waits; or what it wrote before it looked is seen here.
 */
static __always_inline void lock_start(struct ak_cpu *cpu, struct ak_mm *mm)
{
	spin_lock_irq(&mm->lock);
	if (IS_ENABLED(CONFIG_SMP)) {
		WRITE_ONCE(cpu->starts, 1);
		/* Pairs with that of ak_pull(). */
		mb();
	}
}

static __always_inline void unlock_start(struct ak_cpu *cpu, struct ak_mm *mm)
{
	if (IS_ENABLED(CONFIG_SMP)) {
		/* The state is set before; pairs with ak_pull(). */
		smp_store_release(&cpu->starts, 0);
	}
	spin_unlock_irq(&mm->lock);
}

/*
 * Waits until no range of the address space is being changed. False if a signal came first, or if the process
 * has to stay here, or while memory is reclaimed.
 */
static bool start_user(struct ak_cpu *cpu)
{
	struct ak_mm *mm = cpu->mm;

	for (;;) {
		lock_start(cpu, mm);
		if (mm->home || READ_ONCE(ak_reclaiming)) {
			unlock_start(cpu, mm);
			return false;
		}
		if (!mm->holds) {
			/* Only the thread that has the CPU counts its stays. */
			if (IS_ENABLED(CONFIG_SMP))
				WRITE_ONCE(cpu->stays, cpu->stays + 1);
			ak_set_state(cpu, AK_RUN);
			unlock_start(cpu, mm);
			break;
		}
		unlock_start(cpu, mm);
		if (wait_event_interruptible(mm->released, !READ_ONCE(mm->holds)))
			return false;
	}
	/* The state is seen before the flag is read; the CPU does it the other way round. */
	mb();
	if (READ_ONCE(cpu->halted))
		ak_kick(cpu);
	/* It began in between. */
	if (unlikely(READ_ONCE(ak_reclaiming)))
		ak_recall(cpu);
	return true;
}

/* Looks again and again, and lets others run in between. */
static void poll(struct ak_cpu *cpu)
{
	while (ak_runs(cpu)) {
		unsigned long flags = read_thread_flags();

		if (flags & (_TIF_SIGPENDING | _TIF_NOTIFY_SIGNAL))
			break;
		if (flags & _TIF_NEED_RESCHED)
			cond_resched();
		cpu_relax();
	}
}

/*
 * Halts CPU 0 within the thread's own context, as long as nothing else wants to run there: the interrupt finds
 * the context where it is, and no other has to be switched to and from. After two ticks it is time to sleep
 * properly, for then Linux can stop the tick.
 */
static void halt_for(struct ak_cpu *cpu)
{
	unsigned long until = jiffies + 2;

	while (ak_runs(cpu) && !signal_pending(current) && !need_resched() && single_task_running() &&
	       time_before(jiffies, until)) {
		local_irq_disable();
		/* With SMP, it may be on another CPU than before. */
		ak_set_waiter(cpu, AK_HALTED, ak_own_id());
		/* What an interrupt did before is seen here, and one that comes now ends the halt. */
		if (ak_runs(cpu) && !signal_pending(current) && !need_resched() && single_task_running())
			safe_halt();
		else
			local_irq_enable();
	}
}

static void sleep_for(struct ak_cpu *cpu)
{
	while (ak_runs(cpu)) {
		bool over;

		set_current_state(TASK_INTERRUPTIBLE);
		/* Whatever CPU it slept on: this one never goes offline. */
		ak_set_waiter(cpu, AK_SLEEPS, boot_cpu_physical_apicid);
		if (!ak_runs(cpu))
			break;
		over = !schedule_timeout(msecs_to_jiffies(ak_slice_ms) + 1) && ak_threads_wait();
		__set_current_state(TASK_RUNNING);
		ak_awoke(cpu);
		if (ak_runs(cpu) && (over || signal_pending(current)))
			ak_recall(cpu);
	}
	__set_current_state(TASK_RUNNING);
}

/* Waits until the thread came back, or takes it away: for a signal, or when its time is over. */
static void await_thread(struct ak_cpu *cpu)
{
	if (ak_poll)
		poll(cpu);
	else if (ak_halt)
		halt_for(cpu);
	if (unlikely(ak_runs(cpu)))
		sleep_for(cpu);
	WRITE_ONCE(cpu->waiter, AK_POLLS);
	ak_awoke(cpu);
}

static void set_base(u32 msr, unsigned long *saved, u64 base)
{
	/* A switch in between would save, or load, the one without the other. */
	preempt_disable();
	wrmsrl(msr, base);
	*saved = base;
	preempt_enable();
}

/*
 * Time elsewhere is the thread's user time; like the tick, it counts what it falls into. Where its context did
 * not sleep meanwhile, the tick took that for time in the kernel.
 */
static noinline void account(unsigned long ticks, u64 stime, u64 runtime)
{
	u64 time = ticks * TICK_NSEC, counted;
	unsigned long flags;

	local_irq_save(flags);
	current->utime += time;
	current->stime = stime;
	counted = current->se.sum_exec_runtime - runtime;
	if (counted < time)
		current->se.sum_exec_runtime += time - counted;
	local_irq_restore(flags);
}

/*
 * From now on, what is in memory is newer than registers of CPU 0, and Linux loads it before the thread's next
 * instruction here. This is what kernel_fpu_begin() does, without making the registers ready for the kernel.
 */
static void unload_fpu(struct ak_cpu *cpu)
{
	struct fpu *fpu = &current->thread.fpu;

	cpu->fpu = &fpu->fpstate->regs;
	/* In a task work they are on. */
	local_irq_disable();
	if (!test_thread_flag(TIF_NEED_FPU_LOAD)) {
		ak_save_fpu(cpu);
		set_thread_flag(TIF_NEED_FPU_LOAD);
	}
	local_irq_enable();
	fpu->last_cpu = -1;
}

/* What the CPU needs to know of the thread, beside its registers. False if the thread has to stay here. */
static bool hand_over(struct ak_cpu *cpu)
{
	unload_fpu(cpu);
	cpu->tss.sp0 = (u64)(task_pt_regs(current) + 1);
	cpu->user_cr3 = cpu->mm->cr3;
	cpu->fsbase = __rdmsr(MSR_FS_BASE);
	cpu->gsbase = __rdmsr(MSR_KERNEL_GS_BASE);
	return start_user(cpu);
}

/* One stay in user mode elsewhere. False if there was none, or the CPU was lost. */
static bool run(struct ak_cpu *cpu, struct pt_regs *regs)
{
	u64 stime = current->stime, runtime = current->se.sum_exec_runtime;
	unsigned long began = jiffies;

	if (!hand_over(cpu))
		return false;
	ak_counts.left++;
	await_thread(cpu);
	/* The state is read with acquire: what the CPU wrote before it is there. */
	if (ak_state(cpu) != AK_DONE)
		return false;
	/* Nothing to restart: a system call that was under way has ended. */
	regs->orig_ax = -1;
	if (unlikely(cpu->own_fsbase != cpu->fsbase))
		set_base(MSR_FS_BASE, &current->thread.fsbase, cpu->own_fsbase);
	if (unlikely(cpu->own_gsbase != cpu->gsbase))
		set_base(MSR_KERNEL_GS_BASE, &current->thread.gsbase, cpu->own_gsbase);
	if (unlikely(time_after(jiffies, began)))
		account(jiffies - began, stime, runtime);
	return true;
}

/* Calls that are this close cost more elsewhere than what is between them gains. */
static noinline void look_at_calls(struct ak_thread *thread)
{
	u64 now = rdtsc(), close = AK_CALLS * (u64)ak_burst;
	bool lives_here = thread->cycles < close;

	thread->calls = 0;
	thread->cycles = 0;
	if (!lives_here)
		return;
	thread->patience = now - thread->called < 2 * close ? min(thread->patience + 1, AK_PATIENCE) : 0;
	thread->calls_at_home = ak_calls_at_home << thread->patience;
	thread->called = now;
	ak_counts.call_bound++;
	ak_thread_waits(thread);
}

/* The thread executes the instruction again, here: so the call is Linux's own in every respect. */
static void came_for_call(struct ak_thread *thread, struct ak_cpu *cpu, struct pt_regs *regs)
{
	cpu->calls++;
	regs->ip -= 2;
	if (++thread->calls >= AK_CALLS)
		look_at_calls(thread);
}

/* A breakpoint is reported behind its instruction; here it is executed again. */
static void back_to_breakpoint(struct pt_regs *regs)
{
	u16 code;

	/* int $3 is two bytes; int3 is one, also where a probe of Linux stood there until now. */
	if (!get_user(code, (u16 __user *)(regs->ip - 2)) && code == 0x03cd)
		regs->ip -= 2;
	else
		regs->ip -= 1;
}

/* A single step is over: the thread set the flag itself. Anything else is an instruction of one byte, icebp. */
static void back_to_debug_trap(struct pt_regs *regs)
{
	if (regs->flags & X86_EFLAGS_TF)
		force_sig(SIGTRAP);
	else
		regs->ip -= 1;
}

/* True if the thread can go on elsewhere. */
static bool came_back(struct ak_thread *thread, struct ak_cpu *cpu, struct pt_regs *regs)
{
	thread->cycles += cpu->cycles;
	switch (cpu->vector) {
	case AK_SYSCALL:
		came_for_call(thread, cpu, regs);
		return false;
	case X86_TRAP_PF:
		return ak_fault(cpu);
	case AK_KICK:
		cpu->kicks++;
		/* Another's turn, if there is one. */
		return !ak_threads_wait();
	}
	cpu->others++;
	/* Traps are reported behind their instruction. */
	if (cpu->vector == X86_TRAP_BP)
		back_to_breakpoint(regs);
	else if (cpu->vector == X86_TRAP_DB)
		back_to_debug_trap(regs);
	else if (cpu->vector == X86_TRAP_OF)
		regs->ip -= 2;
	return false;
}

/* What the CPU answers system calls with. */
static __always_inline void name_thread(struct ak_thread *thread, struct ak_cpu *cpu)
{
	cpu->syscall_work = NULL;
	if (!thread->local)
		return;
	if (thread->named != current->thread_pid) {
		thread->named = current->thread_pid;
		thread->tgid = task_tgid_vnr(current);
		thread->pid = task_pid_vnr(current);
	}
	cpu->tgid = thread->tgid;
	cpu->pid = thread->pid;
	cpu->syscall_work = &current_thread_info()->syscall_work;
}

static void lose(struct ak_cpu *cpu)
{
	unsigned long flags;

	pr_err("CPU %u is lost: vector %llu, error code %#llx at %pS, address %#llx\n", cpu->index,
	       cpu->died[0], cpu->died[1], (void *)cpu->died[2], cpu->died[3]);
	cpu->lost = true;
	/* Its registers are those of its last entry, at best, so no handler of its own may go on from there. */
	spin_lock_irqsave(&current->sighand->siglock, flags);
	current->sighand->action[SIGBUS - 1].sa.sa_handler = SIG_DFL;
	spin_unlock_irqrestore(&current->sighand->siglock, flags);
	force_sig(SIGBUS);
}

/* Gives the CPU that the thread has from now on, or NULL. */
static noinline struct ak_cpu *trade(struct ak_thread *thread, struct ak_cpu *cpu)
{
	cpu = ak_trade(thread, cpu);
	if (cpu)
		name_thread(thread, cpu);
	else
		ak_calm(thread, current);
	return cpu;
}

/* Whether others wait and a thread had its turn: one that takes fault after fault never sleeps for a slice. */
static __always_inline bool is_turn_over(struct ak_thread *thread)
{
	return unlikely(ak_threads_wait()) && time_after_eq(jiffies, thread->since + msecs_to_jiffies(ak_slice_ms));
}

/* A thread has a CPU until it is needed on CPU 0. True if it only gives way to another one. */
static __always_inline bool stay(struct ak_thread *thread, struct ak_cpu *cpu, struct pt_regs *regs)
{
	bool called = false, gives_way = false;

	name_thread(thread, cpu);
	/* A signal that came meanwhile brings it back at once. */
	do {
		if (!run(cpu, regs)) {
			if (cpu->state == AK_DEAD || cpu->lost)
				lose(cpu);
			break;
		}
		called = cpu->vector == AK_SYSCALL;
		/* What it did there may be what only CPU 0 can do. */
		if (!came_back(thread, cpu, regs) || is_unsupported(regs))
			break;
		/* Somebody computes on CPU 0, and waited meanwhile. */
		if (unlikely(READ_ONCE(ak_home))) {
			cpu = trade(thread, cpu);
			if (!cpu)
				return false;
		}
		gives_way = is_turn_over(thread);
	} while (!gives_way && !signal_pending(current));
	gives_way |= !called && cpu->vector == AK_KICK && ak_threads_wait();
	ak_cpu_give(cpu);
	/* A call leads to the hook behind calls; what came home for anything else has to be remembered. */
	if (!called && !gives_way)
		ak_thread_waits(thread);
	return gives_way;
}

/**
 * ak_thread_leave - runs a thread elsewhere until it is needed here
 * @thread: the current thread, on its way to user mode
 */
void ak_thread_leave(struct ak_thread *thread)
{
	struct pt_regs *regs = task_pt_regs(current);
	struct ak_cpu *cpu;

	do {
		cpu = NULL;
		if (may_leave(thread, regs))
			cpu = ak_place(thread);
		else
			ak_displace(thread);
	} while (cpu && stay(thread, cpu, regs));
	if (!cpu)
		ak_calm(thread, current);
}
