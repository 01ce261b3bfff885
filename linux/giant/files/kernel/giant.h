/* SPDX-License-Identifier: GPL-2.0-only */
/* What the locks and their files in debugfs share. */
#ifndef _KERNEL_GIANT_H
#define _KERNEL_GIANT_H

#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/giant.h>
#include <linux/percpu.h>
#include <linux/seqlock.h>

/**
 * enum giant_mode - which locks are taken
 * @GIANT_OFF: nothing is taken, nothing is counted
 * @GIANT_FINE: none
 * @GIANT_COARSE: one for each subsystem; kernel threads take none
 * @GIANT_GIANT: one for all, kernel threads with it
 * @GIANT_GIANT_IRQ: the same, and interrupts take it, too
 * @GIANT_MODES: how many there are
 */
enum giant_mode {
	GIANT_OFF,
	GIANT_FINE,
	GIANT_COARSE,
	GIANT_GIANT,
	GIANT_GIANT_IRQ,
	GIANT_MODES,
};

/* The locks: one for each subsystem, and one for all of them. */
#define GIANT_ALL	GIANT_THREADS
#define GIANT_LOCKS	(GIANT_ALL + 1)

/* Who takes locks: tasks, for each subsystem, and interrupts. */
#define GIANT_IRQ	GIANT_SUBSYSTEMS
#define GIANT_TAKERS	(GIANT_IRQ + 1)

/* Stands for an interrupt where there is a thread otherwise. */
#define GIANT_IRQ_PID	(-1)

/* What a CPU does: in the kernel or waiting, there is one for each subsystem. */
#define GIANT_USER	0
#define GIANT_IDLE	1
#define GIANT_INTERRUPT	2
#define GIANT_KERNEL	3
#define GIANT_WAITING	(GIANT_KERNEL + GIANT_SUBSYSTEMS)
#define GIANT_STATES	(GIANT_WAITING + GIANT_TAKERS)

/**
 * struct giant_lock - a lock that is had in the order in which it was asked for
 * @next: the ticket of who comes next
 * @served: the ticket of who has it
 * @holder: the thread that has it, GIANT_IRQ_PID, or 0 if none has
 * @subsystem: in which subsystem that thread is
 * @cpu: the CPU on which it took the lock
 */
struct giant_lock {
	atomic_t next;
	atomic_t served ____cacheline_aligned_in_smp;
	pid_t holder;
	unsigned int subsystem;
	unsigned int cpu;
} ____cacheline_aligned_in_smp;

/**
 * struct giant_counters - what a CPU did
 * @spent: cycles, by what it did
 * @taken: how often it took a lock, by who did
 * @contended: how often it waited for one
 */
struct giant_counters {
	u64 spent[GIANT_STATES];
	u64 taken[GIANT_TAKERS];
	u64 contended[GIANT_TAKERS];
};

/* Beside what a CPU does, in a record: a task or an interrupt wakes a task. */
#define GIANT_WAKE	GIANT_STATES
#define GIANT_WAKE_IRQ	(GIANT_STATES + 1)

/* A stretch is 16 bytes. */
#define GIANT_MOST_STRETCHES	(1U << 20)

/**
 * struct giant_stretch - a time in which a CPU did one thing, or what happened
 * @cycles: how long; of a wake-up how long after the stretch began that follows
 * @state: what it did, or what happened
 * @pid: the thread that ran, 0 if none did; of a wake-up the one that is woken
 */
struct giant_stretch {
	u64 cycles;
	u32 state;
	pid_t pid;
};

/**
 * struct giant_record - what a CPU did, in its order
 * @size: so many stretches have room
 * @count: so many are there; only the CPU writes it
 * @done: they
 */
struct giant_record {
	unsigned int size;
	unsigned int count;
	struct giant_stretch done[] __counted_by(size);
};

/**
 * struct giant_cpu - a CPU
 * @sequence: grows before and after the next three change, which only this CPU does
 * @did: what it did until @since
 * @state: what it does
 * @since: since when, in its cycles; 0 before it began
 * @pid: the thread that does it
 * @waiter: the thread that waits on it, GIANT_IRQ_PID, or 0 if none does
 * @waits_for: the lock that this one waits for
 * @irq_drawn: whether an interrupt on it has drawn a ticket
 * @irq_ticket: which one
 * @record: keeps what it does, or NULL
 */
struct giant_cpu {
	seqcount_t sequence;
	struct giant_counters did;
	unsigned int state;
	u64 since;
	pid_t pid;
	pid_t waiter;
	unsigned int waits_for;
	bool irq_drawn;
	int irq_ticket;
	struct giant_record *record;
};

DECLARE_PER_CPU(struct giant_cpu, giant_cpus);

extern struct giant_lock giant_locks[GIANT_LOCKS];
extern const char *const giant_mode_names[GIANT_MODES];
extern const char *const giant_taker_names[GIANT_TAKERS];

void giant_account(struct giant_cpu *cpu, unsigned int state, u64 *counter);
bool giant_wait(struct giant_lock *lock, int ticket, unsigned int most);
void giant_had(struct giant_lock *lock, unsigned int taker, pid_t holder);
void giant_pass_on(struct giant_lock *lock);
void giant_read(int cpu, struct giant_counters *counters);
int giant_record_start(unsigned int size);
struct giant_record *giant_record_of(int cpu);
enum giant_mode giant_mode_now(void);
void giant_mode_set(enum giant_mode mode);

#endif /* _KERNEL_GIANT_H */
