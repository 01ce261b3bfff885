// SPDX-License-Identifier: GPL-2.0-only
/*
 * With giant=giant-irq, interrupts take the giant lock, too: those of devices
 * and of the local timer, with the softirqs behind them, where they come from
 * user mode or from a CPU that has nothing to do. Within the kernel they take
 * nothing. The task that they interrupt has the lock, or has drawn a ticket and
 * waits, and would not go on before they end; or it does without.
 *
 * An interrupt that waits must not hold up whoever has the lock:
 *
 * - The holder may wait for an interprocessor interrupt to be served here. These
 *   take no lock, and who waits has interrupts enabled. As the one that waits is
 *   not yet acknowledged, the local APIC lets only higher priorities through,
 *   and interprocessor interrupts have the highest.
 * - The holder may spin for another lock. In user mode a CPU has none, and where
 *   it waits in idle neither; the idle task may have one elsewhere, so it is the
 *   address that counts.
 * - The holder may wait for what this interrupt does, or for its being
 *   acknowledged: for the next jiffy, or in synchronize_irq(). So it waits for
 *   only so long, and goes on without the lock then. Its ticket is served
 *   afterwards, when it waits as a task does, with all interrupts coming through,
 *   and passes the lock on.
 */
#include <linux/cpu.h>
#include <linux/irqflags.h>
#include <linux/percpu.h>
#include <linux/ptrace.h>

#include "giant.h"

/* Some milliseconds, and far longer than all CPUs one after the other have the lock. */
#define GIANT_IRQ_TURNS	(1U << 20)

/* Whether an interrupt came from where a CPU has no lock. */
static bool giant_irq_takes(struct pt_regs *regs)
{
	return user_mode(regs) || cpu_in_idle(instruction_pointer(regs));
}

/*
 * Interrupts are disabled, but for while it waits: so many turns, which counts
 * it as contended, or with 0 until its ticket is served. Returns whether it is.
 */
static bool giant_irq_wait(struct giant_cpu *cpu, unsigned int most)
{
	bool served;

	giant_account(cpu, GIANT_WAITING + GIANT_IRQ,
		      most ? &cpu->did.contended[GIANT_IRQ] : NULL);
	cpu->waits_for = GIANT_ALL;
	WRITE_ONCE(cpu->waiter, GIANT_IRQ_PID);
	/* The kernel is not preempted, and others do not come here within it. */
	local_irq_enable();
	served = giant_wait(&giant_locks[GIANT_ALL], cpu->irq_ticket, most);
	local_irq_disable();
	WRITE_ONCE(cpu->waiter, 0);
	return served;
}

static bool giant_irq_served(struct giant_cpu *cpu)
{
	return atomic_read_acquire(&giant_locks[GIANT_ALL].served) == cpu->irq_ticket;
}

/**
 * __giant_irq_enter - take the giant lock for an interrupt, if that takes it
 * @regs: what was interrupted
 *
 * Before it counts as an interrupt, as interrupts may be enabled meanwhile.
 */
void __giant_irq_enter(struct pt_regs *regs)
{
	struct giant_lock *lock = &giant_locks[GIANT_ALL];
	struct giant_cpu *cpu = this_cpu_ptr(&giant_cpus);

	if (giant_mode_now() != GIANT_GIANT_IRQ || !giant_irq_takes(regs))
		return;
	cpu->irq_ticket = atomic_fetch_inc(&lock->next);
	cpu->irq_drawn = true;
	if (!giant_irq_served(cpu) && !giant_irq_wait(cpu, GIANT_IRQ_TURNS)) {
		giant_account(cpu, GIANT_INTERRUPT, NULL);
		return;
	}
	giant_had(lock, GIANT_IRQ, GIANT_IRQ_PID);
	giant_account(cpu, GIANT_INTERRUPT, &cpu->did.taken[GIANT_IRQ]);
}

/**
 * __giant_irq_exit - pass on what an interrupt has, behind its softirqs
 * @regs: what was interrupted
 */
void __giant_irq_exit(struct pt_regs *regs)
{
	struct giant_cpu *cpu = this_cpu_ptr(&giant_cpus);

	if (!cpu->irq_drawn || !giant_irq_takes(regs))
		return;
	if (!giant_irq_served(cpu))
		giant_irq_wait(cpu, 0);
	cpu->irq_drawn = false;
	giant_pass_on(&giant_locks[GIANT_ALL]);
	giant_account(cpu, user_mode(regs) ? GIANT_INTERRUPT : GIANT_IDLE, NULL);
}
