/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Coarse locks around the kernel, as an overlay.
 *
 * A task that enters the kernel takes a lock, and gives it back when it
 * leaves the kernel or sleeps. The kernel below is as fine-grained as ever, so
 * that the locks protect nothing: they show what one lock, or one for each
 * subsystem, would cost.
 */
#ifndef _LINUX_GIANT_H
#define _LINUX_GIANT_H

#include <linux/types.h>

struct pt_regs;
struct task_struct;

/**
 * enum giant_subsystem - what a task does in the kernel
 * @GIANT_PROCESSES: processes, signals, time, and all else
 * @GIANT_FILES: files and file systems
 * @GIANT_NETWORK: sockets
 * @GIANT_MEMORY: address spaces, and page faults
 * @GIANT_IPC: pipes, futexes, System V IPC, and waiting for events
 * @GIANT_THREADS: a kernel thread; there is no lock of its own for it
 * @GIANT_SUBSYSTEMS: how many there are
 */
enum giant_subsystem {
	GIANT_PROCESSES,
	GIANT_FILES,
	GIANT_NETWORK,
	GIANT_MEMORY,
	GIANT_IPC,
	GIANT_THREADS,
	GIANT_SUBSYSTEMS,
};

#ifdef CONFIG_GIANT_LOCK
#include <linux/jump_label.h>

DECLARE_STATIC_KEY_FALSE(giant_key);

/* Called for tasks that have SYSCALL_WORK_GIANT and TIF_GIANT: all, once locks are on. */
void giant_call(long nr);
void giant_exit(void);

void __giant_enter(enum giant_subsystem subsystem);
void __giant_fault(struct pt_regs *regs);
void __giant_interrupt(void);
void __giant_irq_enter(struct pt_regs *regs);
void __giant_irq_exit(struct pt_regs *regs);
void __giant_drop(void);
void __giant_resume(void);
void giant_fork(struct task_struct *task, bool kthread);
void giant_never(struct task_struct *task);
void __giant_woken(struct task_struct *task);

/* Work before a return to user mode begins; interrupts are enabled. */
static __always_inline void giant_enter(enum giant_subsystem subsystem)
{
	if (static_branch_unlikely(&giant_key))
		__giant_enter(subsystem);
}

/* A page fault begins; interrupts are enabled. */
static __always_inline void giant_fault(struct pt_regs *regs)
{
	if (static_branch_unlikely(&giant_key))
		__giant_fault(regs);
}

/* An interrupt or exception came from user mode. */
static __always_inline void giant_interrupt(void)
{
	if (static_branch_unlikely(&giant_key))
		__giant_interrupt();
}

/* An interrupt of a device or timer begins; interrupts are disabled. */
static __always_inline void giant_irq_enter(struct pt_regs *regs)
{
	if (static_branch_unlikely(&giant_key))
		__giant_irq_enter(regs);
}

/* Such an interrupt and its softirqs have ended; interrupts are disabled. */
static __always_inline void giant_irq_exit(struct pt_regs *regs)
{
	if (static_branch_unlikely(&giant_key))
		__giant_irq_exit(regs);
}

/* The scheduler begins; preemption is disabled. */
static __always_inline void giant_drop(void)
{
	if (static_branch_unlikely(&giant_key))
		__giant_drop();
}

/* A task runs again, or for the first time; only preemption is disabled. */
static __always_inline void giant_resume(void)
{
	if (static_branch_unlikely(&giant_key))
		__giant_resume();
}

/* A task is woken, or begins; interrupts are disabled. */
static __always_inline void giant_woken(struct task_struct *task)
{
	if (static_branch_unlikely(&giant_key))
		__giant_woken(task);
}
#else
static inline void giant_call(long nr) { }
static inline void giant_exit(void) { }
static __always_inline void giant_enter(enum giant_subsystem subsystem) { }
static __always_inline void giant_fault(struct pt_regs *regs) { }
static __always_inline void giant_interrupt(void) { }
static __always_inline void giant_irq_enter(struct pt_regs *regs) { }
static __always_inline void giant_irq_exit(struct pt_regs *regs) { }
static __always_inline void giant_drop(void) { }
static __always_inline void giant_resume(void) { }
static __always_inline void giant_woken(struct task_struct *task) { }
static inline void giant_fork(struct task_struct *task, bool kthread) { }
static inline void giant_never(struct task_struct *task) { }
#endif /* CONFIG_GIANT_LOCK */
#endif /* _LINUX_GIANT_H */
