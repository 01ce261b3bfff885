// SPDX-License-Identifier: GPL-2.0-only
/*
 * Coarse locks around the kernel, as an overlay: one for all of it, or one for
 * each subsystem.
 *
 * A lock belongs to a task, which has at most one: so there is no order of
 * locks to keep. A task takes it when it comes from user mode, gives it back
 * when it returns there or when it enters the scheduler, and takes it again
 * when it runs again. A fault or an interrupt within the kernel finds it
 * taken, or does without. Whoever waits spins with interrupts enabled and
 * preemption disabled, so that interprocessor interrupts are served.
 *
 * A task that waits may have a mutex that the holder of the lock wants. The
 * holder must then sleep and not spin until that task sleeps, which is why
 * owner_on_cpu() asks for giant_waits.
 *
 * Interrupts take no lock but with giant=giant-irq, see giant_irq.c, and the
 * stopper threads never do, which run in step with each other. Since nothing is
 * protected by these locks, to leave one out changes what is measured, and
 * never what is right.
 */
#define pr_fmt(fmt) "giant: " fmt

#include <linux/init.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/moduleparam.h>
#include <linux/mutex.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/panic.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/thread_info.h>
#include <linux/timex.h>
#include <linux/unistd.h>
#include <asm/ptrace.h>
#include <asm/syscall.h>

#include "giant.h"
#include "giant_calls.h"

/* A waiting CPU looks at the clock after so many turns. */
#define GIANT_TURNS	1024

DEFINE_STATIC_KEY_FALSE(giant_key);
DEFINE_PER_CPU(struct giant_cpu, giant_cpus) = {
	.sequence = SEQCNT_ZERO(giant_cpus.sequence),
};
struct giant_lock giant_locks[GIANT_LOCKS];

const char *const giant_mode_names[GIANT_MODES] = {
	[GIANT_OFF] = "off",
	[GIANT_FINE] = "fine",
	[GIANT_COARSE] = "coarse",
	[GIANT_GIANT] = "giant",
	[GIANT_GIANT_IRQ] = "giant-irq",
};

const char *const giant_taker_names[GIANT_TAKERS] = {
	[GIANT_PROCESSES] = "processes",
	[GIANT_FILES] = "files",
	[GIANT_NETWORK] = "network",
	[GIANT_MEMORY] = "memory",
	[GIANT_IPC] = "ipc",
	[GIANT_THREADS] = "threads",
	[GIANT_IRQ] = "interrupt",
};

/* In GIANT_OFF, nobody looks at it. */
static enum giant_mode giant_mode __read_mostly;

/* What the command line says. */
static enum giant_mode giant_mode_asked __initdata;

/* So many milliseconds may a task wait for a lock; then the kernel panics. */
static unsigned int giant_limit __read_mostly;
core_param(giant_limit, giant_limit, uint, 0644);

static atomic_t giant_stuck = ATOMIC_INIT(0);

/* Preemption is disabled, so that only this CPU writes. */
static void giant_note(struct giant_cpu *cpu, struct giant_stretch it)
{
	/* It has a size if it is there. */
	struct giant_record *record = smp_load_acquire(&cpu->record);
	unsigned long flags;

	if (!record)
		return;
	/* An interrupt may wake a task, and note that. */
	local_irq_save(flags);
	if (record->count < record->size) {
		record->done[record->count] = it;
		/* Who reads the count finds what is counted. */
		smp_store_release(&record->count, record->count + 1);
	}
	local_irq_restore(flags);
}

/**
 * giant_account - from now on, the CPU does something else
 * @cpu: the CPU
 * @state: what it does
 * @counter: one of its counters, which grows by 1, or NULL
 *
 * Preemption is disabled, so that nobody reads on this CPU meanwhile, and
 * interrupts within the kernel do not come here.
 */
void giant_account(struct giant_cpu *cpu, unsigned int state, u64 *counter)
{
	u64 now = get_cycles();

	raw_write_seqcount_begin(&cpu->sequence);
	/* Of a virtual machine, it may go back. */
	if (cpu->since && now > cpu->since) {
		cpu->did.spent[cpu->state] += now - cpu->since;
		giant_note(cpu, (struct giant_stretch){ now - cpu->since, cpu->state, cpu->pid });
	}
	cpu->state = state;
	cpu->since = now;
	cpu->pid = current->pid;
	if (counter)
		*counter += 1;
	raw_write_seqcount_end(&cpu->sequence);
}

/**
 * giant_read - read the counters of a CPU, which goes on meanwhile
 * @cpu: its number
 * @counters: what it did until now
 */
void giant_read(int cpu, struct giant_counters *counters)
{
	struct giant_cpu *it = per_cpu_ptr(&giant_cpus, cpu);
	unsigned int sequence, state;
	u64 since, now;

	do {
		sequence = raw_read_seqcount_begin(&it->sequence);
		*counters = it->did;
		state = it->state;
		since = it->since;
		now = get_cycles();
	} while (read_seqcount_retry(&it->sequence, sequence));

	/* What it does now is not yet counted. Its clock may be ahead of ours. */
	if (since && now > since)
		counters->spent[state] += now - since;
}

/**
 * giant_record_start - keep what each CPU does from now on, in its order
 * @size: how many stretches of each CPU; what comes after them is not kept
 *
 * Once: what is kept stays until the machine stops.
 */
int giant_record_start(unsigned int size)
{
	static DEFINE_MUTEX(starting);
	struct giant_record *record;
	int cpu, error = 0;

	if (!size || size > GIANT_MOST_STRETCHES)
		return -EINVAL;
	mutex_lock(&starting);
	for_each_online_cpu(cpu) {
		struct giant_cpu *it = per_cpu_ptr(&giant_cpus, cpu);

		if (it->record) {
			error = -EBUSY;
			break;
		}
		record = kvzalloc(struct_size(record, done, size), GFP_KERNEL);
		if (!record) {
			error = -ENOMEM;
			break;
		}
		record->size = size;
		/* Who finds it finds its size. */
		smp_store_release(&it->record, record);
	}
	mutex_unlock(&starting);
	return error;
}

/**
 * giant_record_of - what a CPU did since giant_record_start()
 * @cpu: its number
 *
 * Return: NULL if nothing is kept.
 */
struct giant_record *giant_record_of(int cpu)
{
	/* Behind what giant_record_start() wrote. */
	return smp_load_acquire(&per_cpu_ptr(&giant_cpus, cpu)->record);
}

static const char *giant_lock_name(unsigned int number)
{
	return number == GIANT_ALL ? "giant" : giant_taker_names[number];
}

/* Says who has and who wants what, and ends. */
static void giant_give_up(void)
{
	struct task_struct *task;
	unsigned int number;
	int cpu;

	if (atomic_xchg(&giant_stuck, 1))
		return;
	rcu_read_lock();
	pr_emerg("BUG: a lock was waited for longer than %u ms\n", giant_limit);
	for (number = 0; number < GIANT_LOCKS; number++) {
		struct giant_lock *lock = &giant_locks[number];
		pid_t holder = READ_ONCE(lock->holder);

		if (!holder)
			continue;
		if (holder == GIANT_IRQ_PID) {
			pr_emerg("lock %s: an interrupt has it, taken on CPU %u\n",
				 giant_lock_name(number), lock->cpu);
			continue;
		}
		task = find_task_by_pid_ns(holder, &init_pid_ns);
		pr_emerg("lock %s: thread %d (%s) has it, in %s, taken on CPU %u\n",
			 giant_lock_name(number), holder,
			 task ? task->comm : "gone",
			 giant_taker_names[lock->subsystem], lock->cpu);
	}
	for_each_online_cpu(cpu) {
		struct giant_cpu *it = per_cpu_ptr(&giant_cpus, cpu);
		pid_t waiter = READ_ONCE(it->waiter);

		if (!waiter)
			continue;
		if (waiter == GIANT_IRQ_PID) {
			pr_emerg("CPU %d: an interrupt waits for lock %s\n", cpu,
				 giant_lock_name(it->waits_for));
			continue;
		}
		task = find_task_by_pid_ns(waiter, &init_pid_ns);
		pr_emerg("CPU %d: thread %d (%s) waits for lock %s\n", cpu,
			 waiter, task ? task->comm : "gone",
			 giant_lock_name(it->waits_for));
	}
	rcu_read_unlock();
	panic("a lock of giant=%s is not given back", giant_mode_names[giant_mode]);
}

/**
 * giant_wait - wait until a ticket is served
 * @lock: the lock that the ticket is of
 * @ticket: its number
 * @most: so many turns at least, and not many more; 0 for as many as it takes
 *
 * Return: whether the ticket is served.
 */
bool giant_wait(struct giant_lock *lock, int ticket, unsigned int most)
{
	unsigned long start = jiffies;
	unsigned int turns = 0;
	int served, last = ticket;

	while ((served = atomic_read_acquire(&lock->served)) != ticket) {
		unsigned int limit;

		/* Others wait as well: it is one holder that must not keep it. */
		if (served != last) {
			last = served;
			start = jiffies;
		}
		cpu_relax();
		if (++turns % GIANT_TURNS)
			continue;
		if (most && turns >= most)
			return false;
		/* In jiffies, as Linux need not know how fast the counter is. */
		limit = READ_ONCE(giant_limit);
		if (limit && time_after(jiffies, start + msecs_to_jiffies(limit)))
			giant_give_up();
	}
	return true;
}

/* The lock of a subsystem, or GIANT_LOCKS if it has none. */
static unsigned int giant_lock_of(unsigned int subsystem)
{
	switch (READ_ONCE(giant_mode)) {
	case GIANT_GIANT:
	case GIANT_GIANT_IRQ:
		return GIANT_ALL;
	case GIANT_COARSE:
		return subsystem == GIANT_THREADS ? GIANT_LOCKS : subsystem;
	default:
		return GIANT_LOCKS;
	}
}

/**
 * giant_had - say of a lock who has it, for those who wait too long
 * @lock: the lock
 * @taker: what it was taken for
 * @holder: the thread that has it, or GIANT_IRQ_PID
 */
void giant_had(struct giant_lock *lock, unsigned int taker, pid_t holder)
{
	lock->subsystem = taker;
	lock->cpu = smp_processor_id();
	WRITE_ONCE(lock->holder, holder);
}

/**
 * giant_pass_on - give a lock to who comes next
 * @lock: a lock that the caller has
 */
void giant_pass_on(struct giant_lock *lock)
{
	WRITE_ONCE(lock->holder, 0);
	/* Only who has the lock writes it. */
	atomic_set_release(&lock->served, atomic_read(&lock->served) + 1);
}

/* Preemption is disabled, interrupts are enabled, and the task has no lock. */
static void giant_take(unsigned int subsystem)
{
	struct giant_cpu *cpu = this_cpu_ptr(&giant_cpus);
	unsigned int number = giant_lock_of(subsystem);
	struct giant_lock *lock;
	int ticket;

	if (number == GIANT_LOCKS) {
		giant_account(cpu, GIANT_KERNEL + subsystem, &cpu->did.taken[subsystem]);
		return;
	}

	lock = &giant_locks[number];
	ticket = atomic_fetch_inc(&lock->next);
	if (atomic_read_acquire(&lock->served) != ticket) {
		giant_account(cpu, GIANT_WAITING + subsystem, &cpu->did.contended[subsystem]);
		cpu->waits_for = number;
		WRITE_ONCE(cpu->waiter, current->pid);
		WRITE_ONCE(current->giant_waits, 1);
		giant_wait(lock, ticket, 0);
		WRITE_ONCE(current->giant_waits, 0);
		WRITE_ONCE(cpu->waiter, 0);
	}
	current->giant_held = number + 1;
	giant_account(cpu, GIANT_KERNEL + subsystem, &cpu->did.taken[subsystem]);
	giant_had(lock, subsystem, current->pid);
}

static void giant_release(void)
{
	struct giant_lock *lock;

	if (!current->giant_held)
		return;
	lock = &giant_locks[current->giant_held - 1];
	current->giant_held = 0;
	giant_pass_on(lock);
}

/**
 * __giant_enter - take the lock of a subsystem, coming from user mode
 * @subsystem: what the task is about to do
 *
 * Does nothing if the task has entered already: work before a return to user
 * mode is done under the lock of the call or fault that it is behind.
 */
void __giant_enter(enum giant_subsystem subsystem)
{
	if (current->giant_in)
		return;
	preempt_disable();
	current->giant_in = subsystem + 1;
	giant_take(subsystem);
	preempt_enable();
}

/**
 * __giant_fault - take the lock of memory for a page fault from user mode
 * @regs: where it came from
 */
void __giant_fault(struct pt_regs *regs)
{
	if (user_mode(regs))
		__giant_enter(GIANT_MEMORY);
}

/**
 * giant_call - take the lock that a system call needs
 * @nr: the number of the call; one that does not exist is of GIANT_PROCESSES
 */
void giant_call(long nr)
{
	unsigned int subsystem = GIANT_PROCESSES;

	if (!in_ia32_syscall() && nr >= 0 && nr < ARRAY_SIZE(giant_calls))
		subsystem = giant_calls[array_index_nospec(nr, ARRAY_SIZE(giant_calls))];
	__giant_enter(subsystem);
}

/**
 * __giant_interrupt - count the time of an interrupt from user mode
 *
 * Interrupts are disabled.
 */
void __giant_interrupt(void)
{
	giant_account(this_cpu_ptr(&giant_cpus), GIANT_INTERRUPT, NULL);
}

/**
 * giant_exit - give back what the task has, on the way to user mode
 *
 * The last before the return; interrupts are disabled.
 */
void giant_exit(void)
{
	giant_release();
	current->giant_in = 0;
	giant_account(this_cpu_ptr(&giant_cpus), GIANT_USER, NULL);
}

/**
 * __giant_drop - give back what the task has, before others may run
 */
void __giant_drop(void)
{
	giant_release();
}

/**
 * __giant_resume - take again what the task gave back when it stopped
 *
 * A task that is about to sleep does without: it does not need the lock for
 * the way to the scheduler, and somebody may wait for it to get there.
 */
void __giant_resume(void)
{
	unsigned int in = current->giant_in;
	unsigned int subsystem = in ? in - 1 : GIANT_THREADS;
	struct giant_cpu *cpu = this_cpu_ptr(&giant_cpus);

	if (is_idle_task(current))
		giant_account(cpu, GIANT_IDLE, NULL);
	else if (!in || READ_ONCE(current->__state) != TASK_RUNNING)
		giant_account(cpu, GIANT_KERNEL + subsystem, NULL);
	else
		giant_take(subsystem);
}

/**
 * __giant_woken - keep that a task is woken, or begins
 * @task: that one; interrupts are disabled
 */
void __giant_woken(struct task_struct *task)
{
	struct giant_cpu *cpu = this_cpu_ptr(&giant_cpus);
	u64 now;

	if (!READ_ONCE(cpu->record))
		return;
	now = get_cycles();
	giant_note(cpu, (struct giant_stretch){
		.cycles = now > cpu->since ? now - cpu->since : 0,
		.state = in_task() && !is_idle_task(current) ? GIANT_WAKE : GIANT_WAKE_IRQ,
		.pid = task->pid,
	});
}

/* Lets a task come here at its system calls, and at returns to user mode. */
static void giant_mark(struct task_struct *task)
{
	set_task_syscall_work(task, GIANT);
	set_tsk_thread_flag(task, TIF_GIANT);
}

/**
 * giant_fork - a task begins in the kernel, without a lock
 * @task: the new task
 * @kthread: whether it is a kernel thread
 *
 * It takes its lock when it runs for the first time. Under tasklist_lock: who
 * turns the locks on finds the task, or it finds them on.
 */
void giant_fork(struct task_struct *task, bool kthread)
{
	if (static_key_enabled(&giant_key))
		giant_mark(task);
	task->giant_in = (kthread ? GIANT_THREADS : GIANT_PROCESSES) + 1;
	task->giant_held = 0;
	task->giant_waits = 0;
}

/**
 * giant_never - let a kernel thread run without any lock
 * @task: the thread
 */
void giant_never(struct task_struct *task)
{
	task->giant_in = 0;
}

enum giant_mode giant_mode_now(void)
{
	return static_key_enabled(&giant_key) ? READ_ONCE(giant_mode) : GIANT_OFF;
}

/*
 * Turns the hooks on. Nothing is locked yet: what one hook takes, another one
 * gives back, which may not be on when the first one is.
 */
static void giant_turn_on(void)
{
	struct task_struct *process, *task;

	WRITE_ONCE(giant_mode, GIANT_FINE);
	static_branch_enable(&giant_key);
	read_lock(&tasklist_lock);
	for_each_process_thread(process, task)
		giant_mark(task);
	read_unlock(&tasklist_lock);
}

/*
 * Tasks that have a lock give it back, whichever it is, and take another one
 * when they enter the kernel again. So the counters cannot be turned off again.
 */
void giant_mode_set(enum giant_mode mode)
{
	static DEFINE_MUTEX(turning);

	if (mode == GIANT_OFF)
		return;
	mutex_lock(&turning);
	if (!static_key_enabled(&giant_key))
		giant_turn_on();
	WRITE_ONCE(giant_mode, mode);
	mutex_unlock(&turning);
}

static int __init giant_setup(char *name)
{
	int mode = match_string(giant_mode_names, GIANT_MODES, name);

	if (mode < 0)
		pr_warn("there is no mode %s; expected off, fine, coarse, giant or giant-irq\n", name);
	else
		giant_mode_asked = mode;
	return 1;
}
__setup("giant=", giant_setup);

/* Before other CPUs run, so that no code is patched which these execute. */
static int __init giant_start(void)
{
	if (giant_mode_asked != GIANT_OFF) {
		pr_info("locks are %s\n", giant_mode_names[giant_mode_asked]);
		giant_mode_set(giant_mode_asked);
	}
	return 0;
}
early_initcall(giant_start);
