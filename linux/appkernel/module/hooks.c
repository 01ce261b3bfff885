// SPDX-License-Identifier: GPL-2.0-only
/* Where Linux tells the module: tracepoints for threads, notifiers for translations, an interrupt. */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/cleanup.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/tracepoint.h>
#include <linux/uaccess.h>
#include <uapi/linux/futex.h>
#include <uapi/linux/mman.h>
#include <asm/irq.h>
#include <asm/syscall.h>
#include "appkernel.h"

static struct ak_mm *of_notifier(struct mmu_notifier *notifier)
{
	return container_of(notifier, struct ak_mm, notifier);
}

static int range_start(struct mmu_notifier *notifier, const struct mmu_notifier_range *range)
{
	struct ak_mm *mm = of_notifier(notifier);
	unsigned long flags;

	if (ak_ignore_stale)
		return 0;
	spin_lock_irqsave(&mm->lock, flags);
	mm->holds++;
	spin_unlock_irqrestore(&mm->lock, flags);
	ak_pull(mm);
	return 0;
}

static void range_end(struct mmu_notifier *notifier, const struct mmu_notifier_range *range)
{
	struct ak_mm *mm = of_notifier(notifier);
	unsigned long flags;
	bool last;

	if (ak_ignore_stale)
		return;
	spin_lock_irqsave(&mm->lock, flags);
	last = !--mm->holds;
	spin_unlock_irqrestore(&mm->lock, flags);
	if (last)
		wake_up_all(&mm->released);
}

static void mm_release(struct mmu_notifier *notifier, struct mm_struct *mm)
{
	ak_pull(of_notifier(notifier));
}

static struct mmu_notifier *alloc_notifier(struct mm_struct *mm)
{
	struct ak_mm *record = kzalloc(sizeof(*record), GFP_KERNEL);

	if (!record)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&record->lock);
	record->cr3 = __pa(mm->pgd);
	record->seen = ak_futexes_are_seen(mm);
	init_waitqueue_head(&record->released);
	return &record->notifier;
}

static void free_notifier(struct mmu_notifier *notifier)
{
	/* ak_mm_find() may be looking at it. */
	kfree_rcu(of_notifier(notifier), rcu);
}

static const struct mmu_notifier_ops range_ops = {
	.release = mm_release,
	.invalidate_range_start = range_start,
	.invalidate_range_end = range_end,
	.alloc_notifier = alloc_notifier,
	.free_notifier = free_notifier,
};

/*
 * Ranges say nothing of page tables that are freed behind them: flushes do. A notifier has one or the other, so
 * an address space has two.
 */
struct ak_tables {
	struct mmu_notifier notifier;
	struct ak_mm *mm;
};

static struct ak_tables *of_tables(struct mmu_notifier *notifier)
{
	return container_of(notifier, struct ak_tables, notifier);
}

static void secondary_tlbs(struct mmu_notifier *notifier, struct mm_struct *mm, unsigned long start,
			   unsigned long end)
{
	struct ak_mm *record = READ_ONCE(of_tables(notifier)->mm);

	if (record && !ak_ignore_stale)
		ak_pull(record);
}

static struct mmu_notifier *alloc_tables(struct mm_struct *mm)
{
	struct ak_tables *tables = kzalloc(sizeof(*tables), GFP_KERNEL);

	return tables ? &tables->notifier : ERR_PTR(-ENOMEM);
}

static void free_tables(struct mmu_notifier *notifier)
{
	kfree(of_tables(notifier));
}

static const struct mmu_notifier_ops table_ops = {
	.arch_invalidate_secondary_tlbs = secondary_tlbs,
	.alloc_notifier = alloc_tables,
	.free_notifier = free_tables,
};

static DEFINE_MUTEX(mm_lock);

/* With the lock above. Of each kind of notifier, a record has one for all of its users. */
static struct ak_mm *mm_get(struct mm_struct *mm)
{
	struct mmu_notifier *ranges = mmu_notifier_get(&range_ops, mm), *tables;
	struct ak_mm *record;

	if (IS_ERR(ranges))
		return ERR_CAST(ranges);
	record = of_notifier(ranges);
	if (refcount_inc_not_zero(&record->users)) {
		mmu_notifier_put(ranges);
		return record;
	}
	tables = mmu_notifier_get(&table_ops, mm);
	if (IS_ERR(tables)) {
		mmu_notifier_put(ranges);
		return ERR_CAST(tables);
	}
	record->tables = tables;
	refcount_set(&record->users, 1);
	WRITE_ONCE(of_tables(tables)->mm, record);
	return record;
}

/**
 * ak_mm_get - the record of an address space; ak_mm_put() gives it back
 * @mm: the address space of the current thread, all of which waits meanwhile
 */
struct ak_mm *ak_mm_get(struct mm_struct *mm)
{
	guard(mutex)(&mm_lock);
	return mm_get(mm);
}

/**
 * ak_mm_share - the same record once more, for a thread that was just started; ak_mm_put() gives it back
 * @mm: the record that the thread has that started it, or NULL
 * @of: the new thread's address space
 *
 * Return: the record, or NULL if it is of another address space.
 */
struct ak_mm *ak_mm_share(struct ak_mm *mm, struct mm_struct *of)
{
	if (!mm || mm->notifier.mm != of)
		return NULL;
	refcount_inc(&mm->users);
	return mm;
}

void ak_mm_put(struct ak_mm *mm)
{
	struct mmu_notifier *tables = mm->tables;

	if (!refcount_dec_and_test(&mm->users))
		return;
	/* In this order: a flush that is under way still needs the record. */
	mmu_notifier_put(tables);
	mmu_notifier_put(&mm->notifier);
}

/* Futex operations by which Linux changes user memory in ways that are atomic on one CPU only. */
static bool is_local_futex(unsigned long operation)
{
	switch (operation & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAKE:
	case FUTEX_WAIT_BITSET:
	case FUTEX_WAKE_BITSET:
	case FUTEX_REQUEUE:
	case FUTEX_CMP_REQUEUE:
		return false;
	default:
		return true;
	}
}

static bool is_ageing(unsigned long advice)
{
	return advice == MADV_COLD || advice == MADV_PAGEOUT;
}

/* Calls by which Linux changes user memory, or entries for it, in ways that are atomic on one CPU only. */
static bool is_local_call(struct pt_regs *regs, long number)
{
	if (number == __NR_futex)
		return is_local_futex(regs->si);
	if (number == __NR_madvise)
		return is_ageing(regs->dx);
	return number == __NR_process_madvise && is_ageing(regs->r10);
}

/* Before such a call all threads of the process come home, and stay. */
static void go_home(void)
{
	unsigned long flags;
	struct ak_mm *mm;

	guard(rcu)();
	mm = ak_mm_find(current->mm);
	if (!mm || mm->home)
		return;
	spin_lock_irqsave(&mm->lock, flags);
	mm->home = true;
	spin_unlock_irqrestore(&mm->lock, flags);
	ak_pull(mm);
}

/* System calls that are looked at: a bit for each number. Those of 32 bits have numbers of their own. */
static const u64 looked_at[] = {
	[__NR_madvise / 64] = BIT_ULL(__NR_madvise % 64),
	[__NR_futex / 64] = BIT_ULL(__NR_futex % 64) | BIT_ULL(AK_IA32_FUTEX % 64),
	[__NR_membarrier / 64] = BIT_ULL(__NR_membarrier % 64),
	[__NR_process_madvise / 64] = BIT_ULL(__NR_process_madvise % 64) | BIT_ULL(__NR_io_uring_setup % 64) |
				      BIT_ULL(AK_IA32_FUTEX_TIME64 % 64),
	[AK_FUTEX_WAITV / 64] = BIT_ULL(AK_FUTEX_WAITV % 64) | BIT_ULL(AK_FUTEX_WAIT % 64) |
				BIT_ULL(AK_FUTEX_REQUEUE % 64),
};

static_assert(__NR_futex / 64 == AK_IA32_FUTEX / 64);
static_assert(__NR_process_madvise / 64 == __NR_io_uring_setup / 64 &&
	      __NR_process_madvise / 64 == AK_IA32_FUTEX_TIME64 / 64);
static_assert(AK_FUTEX_WAITV / 64 == AK_FUTEX_WAIT / 64 && AK_FUTEX_WAITV / 64 == AK_FUTEX_REQUEUE / 64);

static noinline void look_at_call(struct pt_regs *regs, long number)
{
	struct ak_thread *thread = ak_thread_find(current);

	if (thread) {
		thread->looked_at = true;
		if (thread->local && ak_futex_waits(regs, number))
			ak_futex_enter(thread, regs, number);
	}
	/* A thread that was never attached shares memory with some that were, too. */
	if (is_local_call(regs, number))
		go_home();
	/* With one CPU online, Linux takes this for done; some of its commands are about all processes. */
	if (number == __NR_membarrier)
		ak_pull(NULL);
}

/* For each system call of the machine: all but a few are of no interest. */
static void on_sys_enter(void *data, struct pt_regs *regs, long number)
{
	unsigned long bit = number;

	if (bit < 64 * ARRAY_SIZE(looked_at) && (looked_at[bit / 64] & BIT_ULL(bit % 64)))
		look_at_call(regs, number);
}

/* Not in the hook itself, which then needs no more registers. */
static noinline void look_back(struct ak_thread *thread)
{
	thread->looked_at = ak_futex_exit(thread, task_pt_regs(current)->ax);
}

static void on_sys_exit(void *data, struct pt_regs *regs, long result)
{
	struct ak_thread *thread = ak_thread_find(current);
	unsigned int left;

	if (!thread)
		return;
	if (unlikely(thread->looked_at))
		look_back(thread);
	/* An interrupt may set it to 0 meanwhile: never below that. */
	left = READ_ONCE(thread->calls_at_home);
	if (unlikely(left)) {
		WRITE_ONCE(thread->calls_at_home, left - 1);
		thread->called = rdtsc();
	} else {
		ak_thread_arm(thread);
	}
}

static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	struct ak_thread *thread = ak_thread_find(parent);

	if (!thread)
		return;
	/* What it starts runs at once if it makes room. */
	if (same_thread_group(parent, child)) {
		thread->calls_at_home = 0;
		thread->calls = 0;
		thread->fresh |= AK_FORKED;
	}
	if (!child->mm || (child->flags & (PF_KTHREAD | PF_USER_WORKER)) ||
	    ak_thread_attach(child, thread, thread->local, GFP_ATOMIC)) {
		ak_calm(thread, child);
		if (child->mm == parent->mm)
			ak_futexes_unseen(thread);
	}
}

static void on_exit(void *data, struct task_struct *task)
{
	struct ak_thread *thread = ak_thread_find(task);

	if (thread)
		ak_thread_end(thread);
}

static void on_signal(void *data, int signal, struct kernel_siginfo *info, struct k_sigaction *action)
{
	struct ak_thread *thread = ak_thread_find(current);

	if (thread)
		ak_thread_arm(thread);
}

static struct ak_hook hooks[] = {
	{ "sys_enter", on_sys_enter },
	{ "sys_exit", on_sys_exit },
	{ "sched_process_fork", on_fork },
	{ "sched_process_exit", on_exit },
	{ "signal_deliver", on_signal },
};

/* What Linux calls before and behind system calls: a function of ours as long as nobody else listens. */
struct ak_probe ak_probes[2];

struct search {
	struct ak_hook *hooks;
	size_t count;
};

static void find_hook(struct tracepoint *point, void *data)
{
	struct search *search = data;

	for (size_t i = 0; i < search->count; i++)
		if (!strcmp(point->name, search->hooks[i].name))
			search->hooks[i].point = point;
}

/**
 * ak_find_hooks - finds tracepoints by their names
 * @found: gets those that this kernel has
 * @count: how many there are
 */
void ak_find_hooks(struct ak_hook *found, size_t count)
{
	struct search search = { found, count };

	for_each_kernel_tracepoint(find_hook, &search);
}

static unsigned int hooked;
static DEFINE_MUTEX(hooks_lock);

static void unhook(void)
{
	while (hooked) {
		hooked--;
		tracepoint_probe_unregister(hooks[hooked].point, hooks[hooked].function, NULL);
	}
	tracepoint_synchronize_unregister();
}

/**
 * ak_hooks_on - puts functions behind tracepoints, if they are not there
 *
 * Only the first thread that is attached does so: before that, the module costs no system call anything.
 *
 * Return: 0 or an error.
 */
int ak_hooks_on(void)
{
	int error = 0;

	mutex_lock(&hooks_lock);
	while (hooked < ARRAY_SIZE(hooks) && !error) {
		error = tracepoint_probe_register(hooks[hooked].point, hooks[hooked].function, NULL);
		if (!error)
			hooked++;
	}
	if (error)
		unhook();
	mutex_unlock(&hooks_lock);
	return error;
}

void ak_hooks_off(void)
{
	mutex_lock(&hooks_lock);
	unhook();
	mutex_unlock(&hooks_lock);
}

int ak_hooks_init(void)
{
	ak_find_hooks(hooks, ARRAY_SIZE(hooks));
	for (unsigned int i = 0; i < ARRAY_SIZE(hooks); i++) {
		if (hooks[i].point)
			continue;
		pr_err("this kernel has no tracepoint %s: it needs CONFIG_FTRACE_SYSCALLS\n", hooks[i].name);
		return -EOPNOTSUPP;
	}
	/* The first two are those of system calls. */
	for (unsigned int i = 0; i < ARRAY_SIZE(ak_probes); i++) {
		ak_probes[i].called = &hooks[i].point->static_call_key->func;
		ak_probes[i].own = hooks[i].function;
	}
	kvm_set_posted_intr_wakeup_handler(ak_wake_waiters);
	return 0;
}

void ak_hooks_exit(void)
{
	ak_hooks_off();
	kvm_set_posted_intr_wakeup_handler(NULL);
	/* A thread may have been interrupted behind its module_put(). */
	synchronize_rcu_tasks();
	/* Records of address spaces are freed after a grace period. */
	mmu_notifier_synchronize();
	rcu_barrier();
}
