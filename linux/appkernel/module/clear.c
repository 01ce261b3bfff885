// SPDX-License-Identifier: GPL-2.0-only
/*
 * Huge pages that threads elsewhere get are cleared there. It takes longer than a hundred faults, and CPU 0, which
 * takes the faults of all threads, does something else meanwhile. Nothing of Linux says when a huge page is to be
 * cleared, so there is a probe at the function that does so.
 */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/highmem.h>
#include <linux/jiffies.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/wait.h>
#include <asm/trapnr.h>
#include "appkernel.h"

/* For less than this nobody is woken who sleeps. */
#define AK_PART SZ_64K

/* A CPU that has not cleared anything after so long is given up. One of a guest may stand still for seconds. */
#define AK_CLEAR_LIMIT (20 * HZ)

/* How many faults have memory cleared elsewhere, and threads that want some of that. */
atomic_t ak_fill_count;
static DECLARE_WAIT_QUEUE_HEAD(fillers);

/* The CPU that the current thread has, and that waits while Linux takes its fault; NULL if it has none. */
static struct ak_cpu *own_cpu(void)
{
	for (unsigned int i = 0; i < ak_cpu_count; i++) {
		struct ak_cpu *cpu = ak_cpus[i];

		if (READ_ONCE(cpu->task) == current)
			return cpu->vector == X86_TRAP_PF && ak_state(cpu) == AK_DONE && !cpu->lost ? cpu : NULL;
	}
	return NULL;
}

/*
 * The CPUs that clear something: the thread's own, and those that no thread has. While they do, none gets them.
 * A process that starts its threads would wait with that: memory is cleared under the lock of regions.
 */
static unsigned int choose(struct ak_cpu **chosen, struct ak_cpu *own, char *at, u64 size)
{
	unsigned int count = 1, most = clamp(size / AK_PART, 1ULL, (u64)AK_CPUS_MAX);
	unsigned long flags;
	u64 part;

	chosen[0] = own;
	spin_lock_irqsave(&ak_threads_lock, flags);
	for (unsigned int i = 0; i < ak_cpu_count && count < most; i++)
		if (ak_is_free(ak_cpus[i]))
			chosen[count++] = ak_cpus[i];
	part = round_up(size / count, sizeof(u64));
	for (unsigned int i = 0; i < count; i++) {
		chosen[i]->clear = at;
		chosen[i]->clear_size = min(part, size);
		at += chosen[i]->clear_size;
		size -= chosen[i]->clear_size;
		/* Nobody sleeps until the others are ready: they take no longer. */
		ak_set_waiter(chosen[i], i ? AK_POLLS : AK_SLEEPS, boot_cpu_physical_apicid);
		ak_set_state(chosen[i], AK_CLEAR);
	}
	spin_unlock_irqrestore(&ak_threads_lock, flags);
	return count;
}

static void give_up(struct ak_cpu *cpu)
{
	pr_err("CPU %u does not answer, and is given up\n", cpu->index);
	ak_lose_cpu(cpu);
}

/* Waits asleep as long as the CPU clears. */
static void await_clear(struct ak_cpu *cpu)
{
	for (;;) {
		set_current_state(TASK_UNINTERRUPTIBLE);
		if (ak_state(cpu) != AK_CLEAR)
			break;
		if (!schedule_timeout(AK_CLEAR_LIMIT) && ak_state(cpu) == AK_CLEAR)
			give_up(cpu);
		ak_awoke(cpu);
	}
	__set_current_state(TASK_RUNNING);
	WRITE_ONCE(cpu->waiter, AK_POLLS);
	ak_awoke(cpu);
}

static void await_other(struct ak_cpu *cpu)
{
	unsigned long until = jiffies + AK_CLEAR_LIMIT;

	while (ak_state(cpu) == AK_CLEAR) {
		cpu_relax();
		cond_resched();
		if (time_after(jiffies, until) && ak_state(cpu) == AK_CLEAR)
			give_up(cpu);
	}
}

/* In place of folio_zero_user(): nobody else has the folio yet. */
static void clear_elsewhere(struct folio *folio, unsigned long hint)
{
	struct ak_cpu *chosen[AK_CPUS_MAX], *own = own_cpu();
	u64 size = folio_size(folio);
	unsigned int count;
	bool failed;

	/* On another CPU of Linux's, it may have been given up meanwhile. */
	if (unlikely(!own)) {
		folio_zero_range(folio, 0, size);
		return;
	}
	if (!own->fill_end)
		atomic_inc(&ak_fill_count);
	own->fill_start = round_down(hint, size);
	own->fill_end = own->fill_start + size;
	count = choose(chosen, own, folio_address(folio), size);
	/* The state is seen before the flag is read; the CPU does it the other way round. */
	mb();
	for (unsigned int i = 0; i < count; i++)
		if (READ_ONCE(chosen[i]->halted))
			ak_kick(chosen[i]);
	await_clear(own);
	failed = ak_state(own) != AK_DONE;
	for (unsigned int i = 1; i < count; i++) {
		await_other(chosen[i]);
		failed |= READ_ONCE(chosen[i]->lost) || ak_state(chosen[i]) == AK_DEAD;
	}
	if (unlikely(failed))
		folio_zero_range(folio, 0, size);
	if (count > 1 && (ak_threads_wait() || READ_ONCE(ak_home)))
		ak_dispatch();
}

/* The same for the thread that computes on CPU 0, beside what is done there for the others. */
static void clear_here(struct folio *folio, unsigned long hint)
{
	struct ak_thread *thread = ak_thread_find(current);

	for (size_t at = 0; at < folio_size(folio); at += AK_PART) {
		if (thread && thread == READ_ONCE(ak_home) && atomic_read(&ak_woken))
			ak_give_way(thread);
		folio_zero_range(folio, at, min(AK_PART, folio_size(folio) - at));
	}
}

static bool is_filled_by_another(struct ak_cpu *cpu)
{
	unsigned long address = cpu->fault_address;

	for (unsigned int i = 0; i < ak_cpu_count; i++) {
		struct ak_cpu *other = ak_cpus[i];

		if (READ_ONCE(other->mm) == cpu->mm && address >= READ_ONCE(other->fill_start) &&
		    address < READ_ONCE(other->fill_end))
			return true;
	}
	return false;
}

/**
 * ak_clear_waits - waits where another thread is getting the memory that a thread wants
 * @cpu: the CPU that the thread has, with the address of its fault
 *
 * Otherwise both would get a huge page, and one of these would be cleared for nothing.
 *
 * Return: true if it waited.
 */
bool ak_clear_waits(struct ak_cpu *cpu)
{
	if (!is_filled_by_another(cpu))
		return false;
	/* Whoever interrupts it finds it on its way to user mode. */
	wait_event_interruptible(fillers, !is_filled_by_another(cpu));
	return true;
}

/**
 * ak_clear_ends - lets those go on who wait for memory that a thread now has
 * @cpu: the CPU that the thread has; some memory was cleared for its fault
 */
void ak_clear_ends(struct ak_cpu *cpu)
{
	WRITE_ONCE(cpu->fill_end, 0);
	atomic_dec(&ak_fill_count);
	wake_up_all(&fillers);
}

static int on_clear(struct kprobe *probe, struct pt_regs *regs)
{
	struct ak_thread *thread = ak_thread_find(current);

	if (!thread)
		return 0;
	if (own_cpu())
		regs->ip = (unsigned long)clear_elsewhere;
	else if (thread == READ_ONCE(ak_home))
		regs->ip = (unsigned long)clear_here;
	else
		return 0;
	return 1;
}

/* A probe that has this stays a breakpoint: behind a jump, nothing could be called instead. */
static void behind_clear(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe probe = {
	.symbol_name = "folio_zero_user",
	.pre_handler = on_clear,
	.post_handler = behind_clear,
};

static bool probed;

/* Without the probe Linux's CPU clears. */
void ak_clear_init(void)
{
	int error = register_kprobe(&probe);

	probed = !error;
	if (error && IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE))
		pr_info("Linux's CPU clears all huge pages (error %d): others do with CONFIG_KPROBES, from Linux 6.12 on\n",
			error);
}

void ak_clear_exit(void)
{
	if (probed)
		unregister_kprobe(&probe);
}
