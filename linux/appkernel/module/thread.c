// SPDX-License-Identifier: GPL-2.0-only
/* Threads that may run elsewhere: which they are, which CPU each has, and when one may leave. */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/timer.h>
#include <asm/apic.h>
#include "appkernel.h"

/* A CPU answers an interrupt within microseconds; after this long it is lost. */
#define AK_LOST (HZ)

struct ak_counts ak_counts;

static DEFINE_HASHTABLE(threads, 8);
LIST_HEAD(ak_waiting);
static unsigned int thread_count;
/* Guards all of the above, and which thread a CPU has. */
static DEFINE_SPINLOCK(threads_lock);

static void recheck(struct timer_list *timer);
static DEFINE_TIMER(recheck_timer, recheck);

unsigned int ak_thread_count(void)
{
	return READ_ONCE(thread_count);
}

/**
 * ak_thread_find - the record of a thread, or NULL if it never leaves
 * @task: the thread
 *
 * With preemption off, as in tracepoints.
 */
struct ak_thread *ak_thread_find(struct task_struct *task)
{
	struct ak_thread *thread;

	hash_for_each_possible_rcu(threads, thread, entry, (unsigned long)task)
		if (thread->task == task)
			return thread;
	return NULL;
}

/**
 * ak_mm_find - the record of an address space, or NULL if none of its threads ever left
 * @mm: the address space
 *
 * With preemption off. Looks at all threads: for what is rare.
 */
struct ak_mm *ak_mm_find(struct mm_struct *mm)
{
	struct ak_thread *thread;
	unsigned int bucket;

	hash_for_each_rcu(threads, bucket, thread, entry) {
		struct ak_mm *found = READ_ONCE(thread->mm);

		if (found && found->notifier.mm == mm)
			return found;
	}
	return NULL;
}

/* Interrupts a CPU, in user mode or halted. */
void ak_kick(struct ak_cpu *cpu)
{
	ak_interrupt(cpu->apic_id, APIC_DM_FIXED | AK_KICK);
}

/**
 * ak_recall - takes the thread off a CPU; one that does not answer is given up
 * @cpu: the CPU
 */
void ak_recall(struct ak_cpu *cpu)
{
	unsigned long until = jiffies + AK_LOST;
	u64 spins = 0;

	/* An interrupt that finds another one pending is lost; a CPU that has not started yet sees the flag. */
	WRITE_ONCE(cpu->recalled, 1);
	/* The flag is there before the interrupt is. */
	mb();
	ak_kick(cpu);
	while (ak_runs(cpu)) {
		cpu_relax();
		/* With interrupts off the clock may stand still. */
		if (time_after(jiffies, until) || ++spins > 1000000000ULL) {
			/* Whatever it runs: memory may be taken away from it now. */
			WRITE_ONCE(cpu->lost, true);
			ak_halt_cpu(cpu);
			WRITE_ONCE(cpu->state, AK_DEAD);
			return;
		}
	}
	WRITE_ONCE(cpu->recalled, 0);
}

/**
 * ak_pull - waits until no thread of an address space is in user mode elsewhere
 * @mm: the address space, or NULL for any
 *
 * Its threads go on by themselves: each load of the page table forgets old translations.
 */
void ak_pull(struct ak_mm *mm)
{
	for (unsigned int i = 0; i < ak_cpu_count; i++) {
		struct ak_cpu *cpu = ak_cpus[i];

		if ((!mm || READ_ONCE(cpu->mm) == mm) && ak_runs(cpu)) {
			ak_counts.flushes++;
			ak_recall(cpu);
		}
	}
}

/* In interrupts: wakes the contexts of threads that came back. One that halted CPU 0 goes on by itself. */
void ak_wake_waiters(void)
{
	for (unsigned int i = 0; i < ak_cpu_count; i++) {
		struct ak_cpu *cpu = ak_cpus[i];

		if (READ_ONCE(cpu->waiter) == AK_SLEEPS && !ak_runs(cpu)) {
			struct task_struct *task = READ_ONCE(cpu->task);

			if (task)
				wake_up_process(task);
		}
	}
}

/**
 * ak_thread_arm - lets a thread leave the next time that it goes to user mode
 * @thread: the thread; it is current, or in the list of those that wait, whose lock is held
 */
void ak_thread_arm(struct ak_thread *thread)
{
	if (READ_ONCE(thread->queued) || xchg(&thread->queued, 1))
		return;
	if (task_work_add(thread->task, &thread->work, TWA_RESUME))
		WRITE_ONCE(thread->queued, 0);
}

/**
 * ak_thread_called - a thread made a system call on CPU 0
 * @thread: the current thread
 */
void ak_thread_called(struct ak_thread *thread)
{
	if (READ_ONCE(thread->calls_at_home))
		thread->calls_at_home--;
	else
		ak_thread_arm(thread);
}

/* CPUs that stopped or died never come back to these states. */
static bool is_free(struct ak_cpu *cpu)
{
	int state = READ_ONCE(cpu->state);

	return !READ_ONCE(cpu->task) && !READ_ONCE(cpu->lost) && (state == AK_IDLE || state == AK_DONE);
}

/* Each tick, while a thread waits: lets it leave if there is a CPU, and if it no longer lives in the kernel. */
static void recheck(struct timer_list *timer)
{
	struct ak_thread *thread, *next;
	unsigned int available = 0;
	unsigned long flags;

	spin_lock_irqsave(&threads_lock, flags);
	for (unsigned int i = 0; i < ak_cpu_count; i++)
		available += is_free(ak_cpus[i]);
	list_for_each_entry_safe(thread, next, &ak_waiting, waiting) {
		if (!available)
			break;
		if (thread->calls_at_home && thread->calls_at_home != thread->calls_seen) {
			thread->calls_seen = thread->calls_at_home;
			continue;
		}
		thread->calls_at_home = 0;
		list_del_init(&thread->waiting);
		available -= !READ_ONCE(thread->queued);
		ak_thread_arm(thread);
	}
	if (!list_empty(&ak_waiting))
		mod_timer(&recheck_timer, jiffies + 1);
	spin_unlock_irqrestore(&threads_lock, flags);
}

/**
 * ak_thread_waits - remembers that a thread is on CPU 0 though it need not be
 * @thread: the current thread
 */
void ak_thread_waits(struct ak_thread *thread)
{
	unsigned long flags;

	spin_lock_irqsave(&threads_lock, flags);
	if (list_empty(&thread->waiting) && !READ_ONCE(thread->queued))
		list_add_tail(&thread->waiting, &ak_waiting);
	if (!timer_pending(&recheck_timer))
		mod_timer(&recheck_timer, jiffies + 1);
	spin_unlock_irqrestore(&threads_lock, flags);
}

/**
 * ak_cpu_take - gives a thread a CPU
 * @thread: the current thread
 *
 * Return: NULL if none is free.
 */
struct ak_cpu *ak_cpu_take(struct ak_thread *thread)
{
	struct ak_cpu *cpu = thread->cpu;
	unsigned long flags;

	spin_lock_irqsave(&threads_lock, flags);
	/* The one that it was on last has what it needs nearest. */
	if (!cpu || !is_free(cpu)) {
		cpu = NULL;
		for (unsigned int i = 0; i < ak_cpu_count && !cpu; i++)
			if (is_free(ak_cpus[i]))
				cpu = ak_cpus[i];
	}
	if (cpu) {
		cpu->task = current;
		cpu->mm = thread->mm;
		if (!list_empty(&thread->waiting))
			list_del_init(&thread->waiting);
	}
	spin_unlock_irqrestore(&threads_lock, flags);
	if (cpu)
		thread->cpu = cpu;
	return cpu;
}

/**
 * ak_cpu_give - the current thread gives its CPU back
 * @cpu: the CPU
 */
void ak_cpu_give(struct ak_cpu *cpu)
{
	WRITE_ONCE(cpu->mm, NULL);
	/* Pairs with the lock of ak_cpu_take(): whoever finds it free has all of it. */
	smp_store_release(&cpu->task, NULL);
}

static void free_thread(struct ak_thread *thread)
{
	if (thread->mm)
		ak_mm_put(thread->mm);
	kfree_rcu(thread, rcu);
	module_put(THIS_MODULE);
}

static void work(struct callback_head *head)
{
	struct ak_thread *thread = container_of(head, struct ak_thread, work);

	WRITE_ONCE(thread->queued, 0);
	/* Only the thread itself ends its record. */
	if (unlikely(!thread->task))
		free_thread(thread);
	else if (likely(!(current->flags & PF_EXITING)))
		ak_thread_leave(thread);
}

/**
 * ak_thread_attach - lets a thread run elsewhere from now on
 * @task: the thread; it is current, or was never run
 * @local: whether CPUs may answer some of its system calls
 * @flags: for the memory of its record
 *
 * Return: 0, -EBUSY if it already does, or -ENOMEM.
 */
int ak_thread_attach(struct task_struct *task, bool local, gfp_t flags)
{
	struct ak_thread *thread = kzalloc(sizeof(*thread), flags);
	unsigned long irq;

	if (!thread)
		return -ENOMEM;
	thread->task = task;
	thread->local = local;
	INIT_LIST_HEAD(&thread->waiting);
	init_task_work(&thread->work, work);
	spin_lock_irqsave(&threads_lock, irq);
	if (ak_thread_find(task)) {
		spin_unlock_irqrestore(&threads_lock, irq);
		kfree(thread);
		return -EBUSY;
	}
	__module_get(THIS_MODULE);
	thread_count++;
	hash_add_rcu(threads, &thread->entry, (unsigned long)task);
	spin_unlock_irqrestore(&threads_lock, irq);
	ak_thread_arm(thread);
	return 0;
}

/**
 * ak_thread_end - forgets a thread that ends
 * @thread: the current thread
 */
void ak_thread_end(struct ak_thread *thread)
{
	unsigned long flags;
	bool queued;

	spin_lock_irqsave(&threads_lock, flags);
	hash_del_rcu(&thread->entry);
	list_del_init(&thread->waiting);
	thread->task = NULL;
	thread_count--;
	queued = thread->queued;
	spin_unlock_irqrestore(&threads_lock, flags);
	/* Otherwise the work frees it, which runs before the thread is gone. */
	if (!queued)
		free_thread(thread);
}

void ak_thread_exit(void)
{
	timer_delete_sync(&recheck_timer);
}
