// SPDX-License-Identifier: GPL-2.0-only
/* Threads that may run elsewhere: which they are, and how they are taken away from a CPU. */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/bitops.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <asm/apic.h>
#include "appkernel.h"

/*
 * A CPU answers an interrupt within microseconds; after this long it is lost, and so many looks: CPUs of a guest may
 * all have stood still meanwhile.
 */
#define AK_LOST (HZ)
#define AK_LOOKS 4000000

struct ak_counts ak_counts;
/* Contexts of threads that came back, and were woken, but have not run since. */
atomic_t ak_woken;

static DEFINE_HASHTABLE(threads, 8);
static unsigned int thread_count;
/* Guards all of the above, who waits for a CPU, and which thread a CPU has. */
DEFINE_SPINLOCK(ak_threads_lock);

unsigned int ak_thread_count(void)
{
	return READ_ONCE(thread_count);
}

/**
 * ak_thread_find - the record of a thread, or NULL if it never leaves
 * @task: the thread: current, or the lock of threads is held
 */
struct ak_thread *ak_thread_find(struct task_struct *task)
{
	struct ak_thread *thread;

	/* Others end meanwhile. Behind tracepoints of system calls, newer kernels are preemptible. */
	guard(rcu)();
	hash_for_each_possible_rcu(threads, thread, entry, (unsigned long)task)
		if (thread->task == task)
			return thread;
	return NULL;
}

/**
 * ak_mm_find - the record of an address space, or NULL if none of its threads ever left
 * @mm: the address space
 *
 * With the lock of RCU. Looks at all threads: for what is rare.
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

/* Asks for the thread on a CPU; gives the number of the stay that is to end. */
static u64 begin_recall(struct ak_cpu *cpu)
{
	u64 stay = READ_ONCE(cpu->stays);

	/*
	 * An interrupt that finds another one pending is lost; a CPU that has not started yet sees the count.
	 * Several CPUs of Linux's may recall at once.
	 */
	atomic_inc(&cpu->recalled);
	/* The count is there before the interrupt is. */
	mb();
	ak_kick(cpu);
	return stay;
}

static void end_recall(struct ak_cpu *cpu, u64 stay)
{
	unsigned long until = jiffies + AK_LOST;
	u64 spins = 0;

	/* With SMP, another thread may begin a stay before the end of this one was seen here. */
	while (ak_runs(cpu) && READ_ONCE(cpu->stays) == stay) {
		cpu_relax();
		/* With interrupts off the clock may stand still. */
		if ((++spins > AK_LOOKS && time_after(jiffies, until)) || spins > 1000000000ULL) {
			/* Whatever it runs: memory may be taken away from it now. */
			ak_lose_cpu(cpu);
			break;
		}
	}
	atomic_dec(&cpu->recalled);
}

/**
 * ak_lose_cpu - gives up a CPU that does not answer
 * @cpu: the CPU
 */
void ak_lose_cpu(struct ak_cpu *cpu)
{
	WRITE_ONCE(cpu->lost, true);
	ak_halt_cpu(cpu);
	WRITE_ONCE(cpu->state, AK_DEAD);
}

/**
 * ak_recall - takes the thread off a CPU; one that does not answer is given up
 * @cpu: the CPU
 */
void ak_recall(struct ak_cpu *cpu)
{
	end_recall(cpu, begin_recall(cpu));
}

/**
 * ak_pull - waits until no thread of an address space is in user mode elsewhere
 * @mm: the address space, or NULL for any
 *
 * Its threads go on by themselves: each load of the page table forgets old translations.
 */
void ak_pull(struct ak_mm *mm)
{
	unsigned long recalled = 0;
	u64 stays[AK_CPUS_MAX];
	unsigned int i;

	/* Whoever starts behind the look at its state sees what was changed. */
	mb();
	/* All are asked before the first is waited for. */
	for (i = 0; i < ak_cpu_count; i++) {
		struct ak_cpu *cpu = ak_cpus[i];

		/* Pairs with unlock_start(): what began is seen, and what begins from now on sees why it must not. */
		while (IS_ENABLED(CONFIG_SMP) && smp_load_acquire(&cpu->starts))
			cpu_relax();
		if ((!mm || READ_ONCE(cpu->mm) == mm) && ak_runs(cpu)) {
			ak_counts.flushes++;
			stays[i] = begin_recall(cpu);
			recalled |= BIT(i);
		}
	}
	for_each_set_bit(i, &recalled, AK_CPUS_MAX)
		end_recall(ak_cpus[i], stays[i]);
}

/*
 * In interrupts: wakes the contexts of threads that came back. One that halted CPU 0 goes on by itself. The thread
 * that they find on CPU 0 leaves if it no longer lives in the kernel: they need that CPU.
 */
void ak_wake_waiters(void)
{
	struct ak_thread *here = ak_thread_find(current);

	if (here && READ_ONCE(here->calls_at_home) && !ak_is_call_bound(here)) {
		here->calls_at_home = 0;
		ak_thread_arm(here);
	}
	for (unsigned int i = 0; i < ak_cpu_count; i++) {
		struct ak_cpu *cpu = ak_cpus[i];

		if (READ_ONCE(cpu->waiter) == AK_SLEEPS && !ak_is_busy(cpu)) {
			struct task_struct *task = READ_ONCE(cpu->task);

			if (!task)
				continue;
			if (!xchg(&cpu->woken, 1))
				atomic_inc(&ak_woken);
			wake_up_process(task);
		}
	}
	/* Linux may hold that they had their share of this CPU. */
	if (here && here == READ_ONCE(ak_home) && atomic_read(&ak_woken))
		ak_thread_arm(here);
}

static void free_thread(struct ak_thread *thread)
{
	if (thread->mm)
		ak_mm_put(thread->mm);
	kfree(thread->proxy);
	kfree_rcu(thread, rcu);
	/* Unloading waits until nobody executes what is behind this. */
	module_put(THIS_MODULE);
}

/**
 * ak_thread_work - the work of a thread on its way to user mode: it leaves, or has ended
 * @head: of its record
 */
void ak_thread_work(struct callback_head *head)
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
 * @parent: what started it, whose shares of CPU 0 it has, too; NULL: nothing that runs elsewhere
 * @local: whether CPUs may answer some of its system calls
 * @flags: for the memory of its record
 *
 * Return: 0, -EBUSY if it already does, or -ENOMEM.
 */
int ak_thread_attach(struct task_struct *task, struct ak_thread *parent, bool local, gfp_t flags)
{
	struct ak_thread *thread = kzalloc(sizeof(*thread), flags);
	unsigned long irq;

	if (!thread)
		return -ENOMEM;
	thread->task = task;
	thread->local = local;
	if (parent) {
		thread->slice = parent->slice;
		thread->custom_slice = parent->custom_slice;
		thread->mm = ak_mm_share(parent->mm, task->mm);
	}
	INIT_LIST_HEAD(&thread->waiting);
	init_task_work(&thread->work, ak_thread_work);
	spin_lock_irqsave(&ak_threads_lock, irq);
	if (ak_thread_find(task)) {
		spin_unlock_irqrestore(&ak_threads_lock, irq);
		if (thread->mm)
			ak_mm_put(thread->mm);
		kfree(thread);
		return -EBUSY;
	}
	__module_get(THIS_MODULE);
	thread_count++;
	hash_add_rcu(threads, &thread->entry, (unsigned long)task);
	if (parent)
		ak_queue_expect(thread);
	spin_unlock_irqrestore(&ak_threads_lock, irq);
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

	spin_lock_irqsave(&ak_threads_lock, flags);
	hash_del_rcu(&thread->entry);
	ak_futex_exit(thread, 0);
	ak_queue_forget(thread);
	thread->task = NULL;
	thread_count--;
	queued = thread->queued;
	spin_unlock_irqrestore(&ak_threads_lock, flags);
	/* Otherwise the work frees it, which runs before the thread is gone. */
	if (!queued)
		free_thread(thread);
}
