// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who waits at a private futex of a process. A CPU of the module may answer a wake itself where nobody does, and has
 * to know that without Linux's tables. So threads are counted from the entry of a system call that waits to its
 * exit, by the address of the futex. That says all if each thread of the process has a record, and none waits by
 * other means: at several futexes at once, moved from one to another, or in an io_uring. Where this is not so, or
 * may not be, Linux has all wakes of the process.
 *
 * Barriers are mb(): in kernels without SMP, smp_mb() is one for the compiler alone, and there is another CPU.
 */
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <uapi/linux/futex.h>
#include <asm/syscall.h>
#include <asm/unistd.h>
#include "appkernel.h"

/**
 * ak_futexes_are_seen - whether only threads that have a record will ever wait at private futexes
 * @mm: the address space of the current thread, which has one; a new record is made for it
 */
bool ak_futexes_are_seen(struct mm_struct *mm)
{
	struct ak_thread *thread = ak_thread_find(current);

#ifdef CONFIG_IO_URING
	if (current->io_uring)
		return false;
#endif
	/* All others will be its children, for which hooks make records. */
	return thread && !thread->unseen && atomic_read(&mm->mm_users) == 1;
}

/**
 * ak_futexes_unseen - from now on Linux has all wakes of a thread's process
 * @thread: the current thread
 */
void ak_futexes_unseen(struct ak_thread *thread)
{
	struct ak_mm *mm = READ_ONCE(thread->mm);

	thread->unseen = true;
	guard(rcu)();
	/* It may never have left, or have another address space now. */
	if (!mm || mm->notifier.mm != current->mm)
		mm = ak_mm_find(current->mm);
	if (mm)
		WRITE_ONCE(mm->seen, false);
	/* Seen before the call begins. */
	mb();
}

/* Whether a futex operation waits at one private futex. */
static bool waits_at_one(u32 operation)
{
	operation &= ~FUTEX_CLOCK_REALTIME;
	return operation == FUTEX_WAIT_PRIVATE || operation == FUTEX_WAIT_BITSET_PRIVATE;
}

/* Whether nobody waits at a private futex because of it. */
static bool waits_at_none(u32 operation)
{
	return !(operation & FUTEX_PRIVATE_FLAG) || operation == FUTEX_WAKE_PRIVATE ||
	       operation == FUTEX_WAKE_BITSET_PRIVATE;
}

/**
 * ak_futex_waits - whether somebody may wait at private futexes because of a system call
 * @regs: the thread's registers
 * @number: the system call
 */
bool ak_futex_waits(struct pt_regs *regs, long number)
{
	if (in_ia32_syscall())
		return true;
	switch (number) {
	case __NR_futex:
		return !waits_at_none(regs->si);
	case AK_FUTEX_WAITV:
	case AK_FUTEX_WAIT:
	case AK_FUTEX_REQUEUE:
	case __NR_io_uring_setup:
		return true;
	default:
		return false;
	}
}

/**
 * ak_futex_enter - counts a thread that is about to wait at a futex
 * @thread: the current thread
 * @regs: its registers
 * @number: the system call, one for which ak_futex_waits() is true
 */
void ak_futex_enter(struct ak_thread *thread, struct pt_regs *regs, long number)
{
	struct ak_mm *mm = thread->mm;

	/* What it was to wait for once more, it does not. */
	ak_futex_exit(thread, 0);
	if (in_ia32_syscall() || number != __NR_futex || !waits_at_one(regs->si) || !mm ||
	    mm->notifier.mm != current->mm) {
		ak_futexes_unseen(thread);
		return;
	}
	thread->sleeps = ak_sleepers(mm, regs->di);
	atomic_inc(thread->sleeps);
	/* Linux reads the futex behind this; pairs with that of is_deserted(). */
	mb();
}

/**
 * ak_futex_exit - it does not wait any more, unless its call is restarted by another one
 * @thread: the current thread
 * @result: of the system call
 *
 * Return: whether it is counted still, until its next call ends.
 */
bool ak_futex_exit(struct ak_thread *thread, long result)
{
	if (!thread->sleeps)
		return false;
	if (result == -ERESTART_RESTARTBLOCK)
		return true;
	atomic_dec(thread->sleeps);
	thread->sleeps = NULL;
	return false;
}
