// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who gets a CPU. Threads for which none is free wait in a queue, asleep. One thread at a time computes on CPU 0
 * instead, beside what Linux does there for the others. As soon as a CPU is free, or the place on CPU 0, the
 * first in the queue gets it. Nobody keeps a place for longer than a slice while others wait; without a queue,
 * the thread on CPU 0 changes places with the others in turn, because CPU 0 has less time for it.
 */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/hrtimer.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/sched/signal.h>
#include <linux/timer.h>
#include <asm/msr.h>
#include "appkernel.h"

/*
 * With the lock, a thread in ak_home, which is read once, stays what it is; but on another CPU of Linux's it may begin
 * to sleep meanwhile, and then is no longer there.
 */

/* In the queue; and on CPU 0 though they need not be, to be asked again. */
LIST_HEAD(ak_parked);
static LIST_HEAD(waiting);
/* It computes on CPU 0, or does as soon as it comes home; since when, and how long it had run by then. */
struct ak_thread *ak_home;
static unsigned long home_since;
static u64 home_began, home_ran;
/* It leaves CPU 0 for a CPU that another thread kept for it. */
static struct ak_thread *heir;
/* Whose turn it is to change places with the thread on CPU 0. */
static unsigned int turn;
/* Threads that were started and have had no place yet, and who waits until all have. */
static unsigned int newborns;
static DECLARE_WAIT_QUEUE_HEAD(parents);

static void recheck(struct timer_list *timer);
static DEFINE_TIMER(recheck_timer, recheck);

/*
 * Linux serves a thread that is elsewhere in that thread's own context, which then must not wait until another has
 * computed for its share of CPU 0: it asks for so short shares, in nanoseconds, that Linux prefers it.
 */
#define AK_HURRY 10000

/* So many nanoseconds are more than it costs to change places. */
#define AK_LOSS 20000

/* And for so long the thread on CPU 0 lets others go first. */
#define AK_GIVE_WAY 100000

static noinline void hurry(struct ak_thread *thread)
{
#ifdef AK_HAS_SLICES
	struct sched_entity *entity = &current->se;

	thread->slice = entity->slice;
	thread->custom_slice = entity->custom_slice;
	entity->slice = AK_HURRY;
	entity->custom_slice = 1;
#endif
}

/**
 * ak_calm - a thread gets as long shares of CPU 0 again as it had before it left
 * @thread: the thread
 * @task: it, or its child that has not run yet
 */
void ak_calm(struct ak_thread *thread, struct task_struct *task)
{
#ifdef AK_HAS_SLICES
	/* Unless it was given others since. */
	if (!task->se.custom_slice || task->se.slice != AK_HURRY)
		return;
	task->se.slice = thread->slice;
	task->se.custom_slice = thread->custom_slice;
#endif
}

static noinline struct ak_cpu *free_cpu(void)
{
	for (unsigned int i = 0; i < ak_cpu_count; i++)
		if (ak_is_free(ak_cpus[i]))
			return ak_cpus[i];
	return NULL;
}

static __always_inline void own(struct ak_cpu *cpu, struct ak_thread *thread)
{
	cpu->task = thread->task;
	cpu->mm = thread->mm;
	thread->cpu = cpu;
	thread->since = jiffies;
}

static __always_inline void free(struct ak_cpu *cpu)
{
	WRITE_ONCE(cpu->mm, NULL);
	/* Pairs with the lock of take_cpu(): whoever finds it free has all of it. */
	smp_store_release(&cpu->task, NULL);
}

/* Gives a thread a CPU, if one is free. With the lock, as all that is static here. */
static __always_inline struct ak_cpu *take_cpu(struct ak_thread *thread)
{
	struct ak_cpu *cpu = thread->cpu;

	/* The one that it was on last has what it needs nearest. */
	if (unlikely(!cpu || !ak_is_free(cpu)))
		cpu = free_cpu();
	if (unlikely(!cpu))
		return NULL;
	own(cpu, thread);
	return cpu;
}

/**
 * ak_queue_expect - a thread that was just started will want a place
 * @thread: the thread; the lock of threads is held
 */
void ak_queue_expect(struct ak_thread *thread)
{
	thread->fresh = AK_NEWBORN;
	newborns++;
}

static void unexpect(struct ak_thread *thread)
{
	if (!(thread->fresh & AK_NEWBORN))
		return;
	thread->fresh &= ~AK_NEWBORN;
	if (!--newborns)
		wake_up_all(&parents);
}

/*
 * Who starts threads makes one call after the other: it is the one to go on, on CPU 0, if there is no CPU for all.
 * Those that it started have not come for theirs yet.
 */
static noinline bool leaves_last(struct ak_thread *thread)
{
	struct ak_thread *home = READ_ONCE(ak_home);
	unsigned int count = 0;

	unexpect(thread);
	for (unsigned int i = 0; i < ak_cpu_count; i++)
		count += ak_is_free(ak_cpus[i]);
	if (newborns && (!home || home == thread) && list_empty(&ak_parked) && count <= newborns)
		return thread->fresh;
	thread->fresh = 0;
	return false;
}

/* What was kept for a thread is free again. */
static void disinherit(void)
{
	if (!heir)
		return;
	free(heir->cpu);
	heir = NULL;
}

static void look_again(void)
{
	if (!timer_pending(&recheck_timer))
		mod_timer(&recheck_timer, jiffies + 1);
}

static void set_home(struct ak_thread *thread)
{
	WRITE_ONCE(ak_home, thread);
	home_since = jiffies;
	home_began = ktime_get_ns();
	home_ran = thread->task->se.sum_exec_runtime;
	look_again();
}

static bool is_home_over(void)
{
	return time_after_eq(jiffies, home_since + msecs_to_jiffies(ak_slice_ms));
}

/* Gives what is free to the first in the queue, and a free CPU to the thread on CPU 0 if nobody waits. */
static noinline void dispatch(void)
{
	struct ak_thread *home;

	while (!list_empty(&ak_parked)) {
		struct ak_thread *thread = list_first_entry(&ak_parked, struct ak_thread, waiting);
		struct ak_cpu *cpu = take_cpu(thread);

		if (!cpu && READ_ONCE(ak_home))
			break;
		if (!cpu)
			set_home(thread);
		list_del_init(&thread->waiting);
		thread->given = cpu;
		WRITE_ONCE(thread->placed, true);
		wake_up_process(thread->task);
	}
	home = READ_ONCE(ak_home);
	if (home && list_empty(&ak_parked) && free_cpu())
		ak_thread_arm(home);
}

static void on_free(struct irq_work *work)
{
	unsigned long flags;

	spin_lock_irqsave(&ak_threads_lock, flags);
	if (ak_home != heir)
		disinherit();
	dispatch();
	if (ak_home && ak_home->gives_way)
		wake_up_process(ak_home->task);
	spin_unlock_irqrestore(&ak_threads_lock, flags);
}

static DEFINE_IRQ_WORK(free_work, on_free);

static void on_sched_in(struct preempt_notifier *notifier, int cpu)
{
}

/* A thread sleeps. The scheduler's lock is held, so nobody can be woken here. */
static void on_sched_out(struct preempt_notifier *notifier, struct task_struct *next)
{
	struct ak_thread *thread = container_of(notifier, struct ak_thread, switches);
	struct ak_thread *home = READ_ONCE(ak_home);

	if (!home || READ_ONCE(current->__state) == TASK_RUNNING)
		return;
	if (home != thread) {
		/* Those that were woken had their turn. */
		if (READ_ONCE(home->gives_way) && !atomic_read(&ak_woken))
			irq_work_queue(&free_work);
		return;
	}
	if (READ_ONCE(thread->gives_way))
		return;
	WRITE_ONCE(ak_home, NULL);
	/* Behind a page fault nobody else asks for a place for it. */
	ak_thread_arm(thread);
	if (ak_threads_wait() || READ_ONCE(heir))
		irq_work_queue(&free_work);
}

static struct preempt_ops switch_ops = { .sched_in = on_sched_in, .sched_out = on_sched_out };

/**
 * ak_is_call_bound - whether a thread that was sent home because it lives in the kernel still does
 * @thread: the thread
 */
bool ak_is_call_bound(struct ak_thread *thread)
{
	return rdtsc() - READ_ONCE(thread->called) < 4 * (u64)ak_burst;
}

/* Each tick, while a thread is on CPU 0 that need not be: it leaves, unless it lives in the kernel. */
static void recheck(struct timer_list *timer)
{
	struct ak_thread *thread, *next, *home;
	unsigned long flags;

	spin_lock_irqsave(&ak_threads_lock, flags);
	list_for_each_entry_safe(thread, next, &waiting, waiting) {
		if (thread->calls_at_home && ak_is_call_bound(thread))
			continue;
		thread->calls_at_home = 0;
		list_del_init(&thread->waiting);
		ak_thread_arm(thread);
	}
	home = READ_ONCE(ak_home);
	if (home && is_home_over())
		ak_thread_arm(home);
	/* It slept just when a CPU was kept for it. */
	if (heir != home)
		disinherit();
	dispatch();
	if (READ_ONCE(ak_home) || !list_empty(&waiting) || !list_empty(&ak_parked))
		mod_timer(&recheck_timer, jiffies + 1);
	spin_unlock_irqrestore(&ak_threads_lock, flags);
}

/**
 * ak_thread_waits - remembers that a thread is on CPU 0 though it need not be
 * @thread: the current thread
 */
void ak_thread_waits(struct ak_thread *thread)
{
	unsigned long flags;

	ak_calm(thread, current);
	spin_lock_irqsave(&ak_threads_lock, flags);
	if (list_empty(&thread->waiting) && !READ_ONCE(thread->queued))
		list_add_tail(&thread->waiting, &waiting);
	look_again();
	spin_unlock_irqrestore(&ak_threads_lock, flags);
}

/* Whether the thread on CPU 0 lost more time to the others than it costs to change places, or its turn is over. */
static bool is_behind(struct ak_thread *home)
{
	u64 had = ktime_get_ns() - home_began, ran = home->task->se.sum_exec_runtime - home_ran;

	return (s64)(had - ran) > AK_LOSS || is_home_over();
}

/* The turn of the thread on CPU 0 is over: one of the others, each in its turn, comes to change places with it. */
static void call_another(void)
{
	for (unsigned int i = 0; i < ak_cpu_count; i++) {
		struct ak_cpu *cpu = ak_cpus[turn++ % ak_cpu_count];

		if (cpu->task && ak_runs(cpu)) {
			ak_kick(cpu);
			return;
		}
	}
}

/* True if the thread has to wait in the queue. */
static noinline bool is_parked(struct ak_thread *thread)
{
	if (!READ_ONCE(ak_home))
		set_home(thread);
	if (ak_home != thread) {
		list_add_tail(&thread->waiting, &ak_parked);
		look_again();
		return true;
	}
	if (!is_home_over())
		return false;
	if (list_empty(&ak_parked)) {
		call_another();
		return false;
	}
	WRITE_ONCE(ak_home, NULL);
	list_add_tail(&thread->waiting, &ak_parked);
	dispatch();
	return true;
}

/* Waits in the queue until the thread has a place, or a signal. */
static noinline struct ak_cpu *await_place(struct ak_thread *thread)
{
	struct ak_cpu *cpu;
	unsigned long flags;

	for (;;) {
		set_current_state(TASK_INTERRUPTIBLE);
		if (READ_ONCE(thread->placed) || signal_pending(current))
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	spin_lock_irqsave(&ak_threads_lock, flags);
	list_del_init(&thread->waiting);
	cpu = thread->given;
	thread->given = NULL;
	thread->placed = false;
	/* A signal came first. */
	if (!cpu && ak_home != thread)
		list_add_tail(&thread->waiting, &waiting);
	spin_unlock_irqrestore(&ak_threads_lock, flags);
	return cpu;
}

static noinline void watch(struct ak_thread *thread)
{
	preempt_notifier_init(&thread->switches, &switch_ops);
	preempt_notifier_register(&thread->switches);
	thread->watched = true;
}

/**
 * ak_give_way - lets those go first whom Linux serves
 * @thread: the current thread, which computes on CPU 0
 *
 * By Linux's scheduler they would wait for the next tick if they had more of this CPU before.
 */
void ak_give_way(struct ak_thread *thread)
{
	ktime_t limit = ns_to_ktime(AK_GIVE_WAY);
	int left = -EINTR;

	WRITE_ONCE(thread->gives_way, true);
	set_current_state(TASK_INTERRUPTIBLE);
	if (atomic_read(&ak_woken))
		left = schedule_hrtimeout(&limit, HRTIMER_MODE_REL);
	__set_current_state(TASK_RUNNING);
	WRITE_ONCE(thread->gives_way, false);
	if (left)
		return;
	/* On another CPU of Linux's, one may have begun to run while it was being woken. */
	for (unsigned int i = 0; i < ak_cpu_count; i++)
		if (READ_ONCE(ak_cpus[i]->waiter) != AK_SLEEPS)
			ak_awoke(ak_cpus[i]);
}

/* No CPU is for the thread: it goes on here, or waits in the queue. Releases the lock. */
static noinline struct ak_cpu *place_here(struct ak_thread *thread)
{
	bool parked = is_parked(thread);

	ak_counts.no_cpu++;
	spin_unlock_irq(&ak_threads_lock);
	if (parked)
		return await_place(thread);
	/* Those that it started need CPU 0 to leave it, for a moment. */
	if (thread->fresh) {
		wait_event_interruptible_timeout(parents, !READ_ONCE(newborns), 1);
		thread->fresh = 0;
	}
	if (atomic_read(&ak_woken))
		ak_give_way(thread);
	return NULL;
}

/**
 * ak_place - finds a place for a thread
 * @thread: the current thread
 *
 * Return: the CPU that it has from now on, or NULL: it goes on, on CPU 0.
 */
struct ak_cpu *ak_place(struct ak_thread *thread)
{
	struct ak_cpu *cpu;

	if (unlikely(!thread->watched))
		watch(thread);
#ifdef AK_HAS_SLICES
	if (unlikely(current->se.slice != AK_HURRY))
		hurry(thread);
#endif
	spin_lock_irq(&ak_threads_lock);
	/* It leaves: what it was to make here is no longer counted. */
	thread->calls_at_home = 0;
	if (!list_empty(&thread->waiting))
		list_del_init(&thread->waiting);
	if (unlikely(heir == thread)) {
		cpu = thread->cpu;
		heir = NULL;
		own(cpu, thread);
	} else if (unlikely(thread->fresh) && leaves_last(thread)) {
		cpu = NULL;
	} else {
		cpu = take_cpu(thread);
	}
	if (unlikely(!cpu))
		return place_here(thread);
	if (unlikely(ak_home == thread)) {
		WRITE_ONCE(ak_home, NULL);
		dispatch();
	}
	spin_unlock_irq(&ak_threads_lock);
	return cpu;
}

/**
 * ak_trade - lets a thread that was served on CPU 0 change places with the one that computes there
 * @thread: the current thread
 * @cpu: its CPU
 *
 * So all of them lose as much to what CPU 0 does for all.
 *
 * Return: the CPU that it has from now on, or NULL: it goes on, on CPU 0.
 */
struct ak_cpu *ak_trade(struct ak_thread *thread, struct ak_cpu *cpu)
{
	struct ak_thread *home;
	bool trades;

	if (likely(!READ_ONCE(ak_home)))
		return cpu;
	spin_lock_irq(&ak_threads_lock);
	home = READ_ONCE(ak_home);
	trades = home && home != thread && !heir && list_empty(&ak_parked) && home->mm && is_behind(home);
	if (trades) {
		heir = home;
		own(cpu, heir);
		list_add(&thread->waiting, &ak_parked);
		ak_thread_arm(heir);
		/* It may just have begun to sleep. */
		look_again();
	}
	spin_unlock_irq(&ak_threads_lock);
	return trades ? await_place(thread) : cpu;
}

/**
 * ak_displace - a thread stays on CPU 0, whoever else computes there
 * @thread: the current thread
 */
void ak_displace(struct ak_thread *thread)
{
	unsigned long flags;

	if (READ_ONCE(ak_home) != thread && READ_ONCE(heir) != thread && !thread->fresh)
		return;
	spin_lock_irqsave(&ak_threads_lock, flags);
	unexpect(thread);
	if (heir == thread)
		disinherit();
	if (ak_home == thread)
		WRITE_ONCE(ak_home, NULL);
	dispatch();
	spin_unlock_irqrestore(&ak_threads_lock, flags);
}

/* Gives what became free to whoever waits for it. */
void ak_dispatch(void)
{
	unsigned long flags;

	spin_lock_irqsave(&ak_threads_lock, flags);
	dispatch();
	spin_unlock_irqrestore(&ak_threads_lock, flags);
}

/**
 * ak_cpu_give - the current thread gives its CPU back
 * @cpu: the CPU
 */
void ak_cpu_give(struct ak_cpu *cpu)
{
	free(cpu);
	if (unlikely(ak_threads_wait() || READ_ONCE(ak_home)))
		ak_dispatch();
}

/**
 * ak_queue_forget - a thread ends
 * @thread: the current thread; the lock of threads is held
 */
void ak_queue_forget(struct ak_thread *thread)
{
	unexpect(thread);
	list_del_init(&thread->waiting);
	if (thread->watched)
		preempt_notifier_unregister(&thread->switches);
	thread->watched = false;
	if (heir == thread)
		disinherit();
	if (ak_home == thread)
		WRITE_ONCE(ak_home, NULL);
	dispatch();
}

void ak_queue_init(void)
{
	preempt_notifier_inc();
}

void ak_queue_exit(void)
{
	timer_delete_sync(&recheck_timer);
	irq_work_sync(&free_work);
	preempt_notifier_dec();
}
