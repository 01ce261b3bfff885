/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef APPKERNEL_H
#define APPKERNEL_H

#include <linux/atomic.h>
#include <linux/hashtable.h>
#include <linux/mmu_notifier.h>
#include <linux/preempt.h>
#include <linux/ptrace.h>
#include <linux/refcount.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/task_work.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <asm/apic.h>
#include <asm/desc.h>
#include <asm/processor.h>
#include <asm/smp.h>
#include "layout.h"

/*
 * Where these files say CPU 0, they mean a CPU of Linux's: with SMP and more than one of these, the one that a
 * thread's own context is on.
 */

/* More than any machine that this is for has. */
#define AK_CPUS_MAX 16

/* System calls of programs of 32 bits, and of kernels that may be newer than the headers. */
#define AK_IA32_FUTEX 240
#define AK_IA32_FUTEX_TIME64 422
#define AK_FUTEX_WAITV 449
#define AK_FUTEX_WAIT 455
#define AK_FUTEX_REQUEUE 456

/* What a thread is that leaves CPU 0. */
#define AK_NEWBORN 1U
#define AK_FORKED 2U

/* Counters of those that wait at a futex; a power of two. */
#define AK_SLEEPERS 16

/**
 * enum ak_state - who may write what of a CPU
 * @AK_OFFLINE: it does not run
 * @AK_IDLE: it waits for its first thread
 * @AK_DONE: the thread came back and its state may be read, and another's written; set by the CPU, with release
 * @AK_DEAD: its own code had a fault; set by the CPU
 * @AK_STOP: it is to go back to where it waits for a start-up interrupt; set by CPU 0
 * @AK_RUN: it runs a thread; set by CPU 0, with release
 * @AK_CLEAR: it clears memory for a thread that is in the kernel; set by CPU 0, with release
 *
 * From @AK_STOP on, the CPU has something to do.
 */
enum ak_state { AK_OFFLINE, AK_IDLE, AK_DONE, AK_DEAD, AK_STOP, AK_RUN, AK_CLEAR };

/**
 * enum ak_waiter - how the thread's own context waits on CPU 0
 * @AK_POLLS: it looks at the state again and again
 * @AK_HALTED: it has halted CPU 0: any interrupt lets it look
 * @AK_SLEEPS: others run there: an interrupt has to wake it
 */
enum ak_waiter { AK_POLLS, AK_HALTED, AK_SLEEPS };

/**
 * struct ak_mm - what is known of an address space whose threads run on CPUs of the module
 * @notifier: says which ranges are being changed
 * @tables: says which page tables are freed
 * @lock: guards @holds and @home
 * @holds: ranges that are being changed; no thread is in user mode elsewhere meanwhile
 * @released: waits for @holds to become 0
 * @home: its threads stay on CPU 0, for one used what is only atomic there
 * @has_proxies: a thread of it has a proxy, which takes its faults
 * @seen: whoever waits at its private futexes does so in a system call of a thread of the module's, see futex.c
 * @sleepers: how many do so in Linux, by the address of the futex
 * @cr3: its page table
 * @users: threads that have this record
 * @rcu: frees it
 */
struct ak_mm {
	struct mmu_notifier notifier, *tables;
	/* Guards holds and home, and that no thread starts where these forbid it. */
	spinlock_t lock;
	unsigned int holds;
	wait_queue_head_t released;
	bool home, has_proxies, seen;
	atomic_t sleepers[AK_SLEEPERS];
	u64 cr3;
	refcount_t users;
	struct rcu_head rcu;
};

/**
 * struct ak_cpu - a CPU that Linux does not know
 * @kernel_sp: its stack, while it is in user mode
 * @kernel_cr3: its page table, while it is not
 * @user_cr3: the page table of the thread
 * @vector: why the thread came back: an exception, an interrupt, or AK_SYSCALL
 * @error: error code of the exception
 * @scratch: a register, for a few instructions
 * @tss: task state: where stacks for exceptions are. The first is the thread's own for kernel mode, so that its
 *       registers are pushed where Linux would have pushed them
 * @fault_address: address of a page fault
 * @fsbase: the thread's base of fs
 * @gsbase: the thread's base of gs
 * @own_fsbase: what the CPU has of the former
 * @own_gsbase: and of the latter
 * @fpu: where its floating-point registers are
 * @fpu_mask: which of them threads have
 * @last_cr3: @user_cr3 of the last thread that ran
 * @cycles: time-stamp counter: how long the last stay in user mode took
 * @state: see enum ak_state
 * @syscall_work: what Linux wants to do at the thread's system calls; NULL if the CPU answers none itself
 * @tgid: what getpid(2) is for the thread
 * @pid: what gettid(2) is
 * @clear: what it is to clear, where @state is AK_CLEAR
 * @clear_size: and how many bytes, a multiple of 8
 * @fill_start: where the thread gets memory that is cleared elsewhere, as of then until its fault ends
 * @fill_end: and where that ends; 0: it gets none
 * @halted: it needs an interrupt to look at @state
 * @home_id: the CPU of Linux's that is interrupted: its number in the machine
 * @recalled: how many want the thread to come back
 * @woken: that context was woken, and has not run since
 * @starts: Linux with SMP is about to set AK_RUN, or to see why not
 * @stays: with SMP: how often it was set
 * @lost: it did not answer, or died; only CPU 0 writes it, whatever the CPU still writes into @state
 * @waiter: how the thread's own context on CPU 0 waits, see enum ak_waiter
 * @task: the thread that it runs, or NULL
 * @mm: that thread's address space, or NULL
 * @stack: its stack's lowest address
 * @index: its number here, from 1
 * @apic_id: its number in the machine
 * @died: vector, error code, instruction and address, where @state is AK_DEAD
 * @runs: how often it entered user mode
 * @calls: how often it came back for a system call
 * @faults: for a page fault
 * @kicks: for an interrupt that took the thread away
 * @others: for anything else
 * @answered: how many system calls it answered itself
 * @cleared: how often it cleared memory
 * @user_cycles: all @cycles together
 * @cr0: control registers and model-specific registers are CPU 0's
 * @cr4: without PCIDE, PGE
 * @pat: MSR_IA32_CR_PAT
 * @efer: MSR_EFER
 * @star: MSR_STAR
 * @syscall_mask: MSR_SYSCALL_MASK
 * @apic_base: MSR_IA32_APICBASE
 * @xcr0: extended control register 0, with xsave
 * @xss: MSR_IA32_XSS, with xsaves
 * @xfd: MSR_IA32_XFD, with extended feature disabling
 * @spec_ctrl: MSR_IA32_SPEC_CTRL, if there is one
 * @gdt: descriptor table
 * @idt: entries for exceptions and interrupts
 */
struct ak_cpu {
	u64 kernel_sp, kernel_cr3, user_cr3, vector, error, scratch;
	struct x86_hw_tss tss __aligned(64);

	u64 fault_address, fsbase, gsbase, own_fsbase, own_gsbase;
	void *fpu;
	u64 fpu_mask, last_cr3, cycles;
	int state, halted, waiter, woken;
	u32 home_id;
	atomic_t recalled;
	int starts;
	u64 stays;
	bool lost;
	struct task_struct *task;
	struct ak_mm *mm;
	unsigned long *syscall_work;
	pid_t tgid, pid;
	void *clear;
	u64 clear_size;
	unsigned long fill_start, fill_end;

	unsigned long stack;
	unsigned int index, apic_id;
	u64 died[4];
	u64 runs, calls, faults, kicks, others, answered, cleared, user_cycles;

	u64 cr0, cr4, pat, efer, star, syscall_mask, apic_base, xcr0, xss, xfd, spec_ctrl;
	struct desc_struct gdt[GDT_ENTRIES] __aligned(16);
	gate_desc idt[256] __aligned(16);
};

/**
 * struct ak_thread - a thread of Linux that may run elsewhere
 * @entry: in ak_threads, by @task
 * @waiting: in the queue for a CPU, or in the list of those that are on CPU 0 though they need not be
 * @given: the CPU that it was given while it was in the queue, or NULL for the place on CPU 0
 * @placed: it was given one
 * @fresh: AK_NEWBORN: it has had no place yet; AK_FORKED: it has just started another
 * @gives_way: it sleeps until Linux has served others
 * @switches: says when it sleeps
 * @watched: @switches does
 * @slice: how long shares of CPU 0 it had before it left, in nanoseconds
 * @custom_slice: and whether it had asked for them
 * @task: the thread; NULL once it has ended
 * @mm: its address space, as of the last time it left
 * @work: runs in its context, on its way to user mode
 * @queued: @work is; set by whoever adds it
 * @cpu: the CPU that it was on last, or NULL
 * @local: the CPU that it is on may answer some of its system calls
 * @named: the identity that @tgid and @pid are of
 * @tgid: the number of its process, as it sees it
 * @pid: its own number
 * @since: when it got its CPU, in jiffies
 * @calls: system calls that it made elsewhere since it was looked at whether it lives in the kernel
 * @calls_at_home: system calls that it makes on CPU 0 before it leaves again
 * @patience: these are so many times doubled
 * @called: time-stamp counter at the last of these
 * @cycles: how long it ran elsewhere meanwhile
 * @sleeps: the counter that has it while it waits at a futex in Linux, or NULL
 * @looked_at: there is something to do when its system call ends
 * @unseen: it has futexes at which not only system calls of threads wait
 * @proxy: makes its calls in user mode; NULL: it makes them itself
 * @rcu: frees it
 */
struct ak_thread {
	struct hlist_node entry;
	struct list_head waiting;
	struct ak_cpu *given;
	unsigned int fresh;
	bool placed, gives_way, watched, custom_slice;
	struct preempt_notifier switches;
	u64 slice;
	struct task_struct *task;
	struct ak_mm *mm;
	struct callback_head work;
	int queued;
	struct ak_cpu *cpu;
	bool local;
	struct pid *named;
	pid_t tgid, pid;
	unsigned long since;
	unsigned int calls, calls_at_home, patience;
	u64 called, cycles;
	atomic_t *sleeps;
	bool looked_at, unseen;
	struct ak_proxy *proxy;
	struct rcu_head rcu;
};

/**
 * struct ak_counts - what happened, over all CPUs; two CPUs of Linux's may count two things as one
 * @left: how often a thread left CPU 0
 * @no_cpu: and how often there was no CPU for it, so that it waited, or went on there
 * @call_bound: how often one was sent home because it lives in the kernel
 * @unsupported: because it has what only CPU 0 can do
 * @flushes: how often a stale translation, or reclaim, took a thread out of user mode
 * @reclaims: how often Linux began to reclaim memory
 * @strays: threads that were elsewhere behind its begin and at its end: there must be none
 */
struct ak_counts {
	u64 left, no_cpu, call_bound, unsupported, flushes, reclaims, strays;
};

/**
 * struct ak_hook - a function behind a tracepoint
 * @name: the tracepoint's name
 * @function: the function
 * @point: the tracepoint, or NULL if there is none
 */
struct ak_hook {
	const char *name;
	void *function;
	struct tracepoint *point;
};

/* What was written before the state was set is there for whoever reads it. */
static __always_inline int ak_state(struct ak_cpu *cpu)
{
	/* Pairs with ak_set_state(). */
	return smp_load_acquire(&cpu->state);
}

static __always_inline void ak_set_state(struct ak_cpu *cpu, int state)
{
	/* Pairs with ak_state(). */
	smp_store_release(&cpu->state, state);
}

extern struct list_head ak_parked;
extern atomic_t ak_woken;
extern struct ak_thread *ak_home;

/* The number in the machine of the CPU of Linux's that this runs on; it changes where preemption is on. */
static __always_inline u32 ak_own_id(void)
{
#ifdef CONFIG_SMP
	return cpu_physical_id(raw_smp_processor_id());
#else
	return boot_cpu_physical_apicid;
#endif
}

static __always_inline atomic_t *ak_sleepers(struct ak_mm *mm, u64 futex)
{
	return &mm->sleepers[(futex >> 2 ^ futex >> 6) % AK_SLEEPERS];
}

/* Whether a thread waits for a CPU. */
static __always_inline bool ak_threads_wait(void)
{
	return READ_ONCE(ak_parked.next) != &ak_parked;
}

/* Whether a CPU has a thread that has not come back. */
static __always_inline bool ak_runs(struct ak_cpu *cpu)
{
	return ak_state(cpu) == AK_RUN;
}

/* Whether no thread has a CPU, and it has nothing to do. Those that stopped or died never come back to these states. */
static __always_inline bool ak_is_free(struct ak_cpu *cpu)
{
	int state = READ_ONCE(cpu->state);

	return !READ_ONCE(cpu->task) && !READ_ONCE(cpu->lost) && (state == AK_IDLE || state == AK_DONE);
}

/* Whether it has something to do for a thread. */
static __always_inline bool ak_is_busy(struct ak_cpu *cpu)
{
	return ak_state(cpu) >= AK_RUN;
}

/**
 * ak_thread_arm - lets a thread leave the next time that it goes to user mode
 * @thread: the thread; it is current, or waits, or computes on CPU 0, and the lock of threads is held
 */
static __always_inline void ak_thread_arm(struct ak_thread *thread)
{
#ifdef AK_HAS_NO_ALLOC
	/* The scheduler's lock may be held. */
	const unsigned int how = TWA_RESUME | TWAF_NO_ALLOC;
#else
	const unsigned int how = TWA_RESUME;
#endif

	if (xchg(&thread->queued, 1))
		return;
	if (unlikely(task_work_add(thread->task, &thread->work, how)))
		WRITE_ONCE(thread->queued, 0);
}

/* How the thread's context waits from now on, and on which CPU it wants to be interrupted. */
static __always_inline void ak_set_waiter(struct ak_cpu *cpu, int waiter, u32 id)
{
	if (IS_ENABLED(CONFIG_SMP))
		WRITE_ONCE(cpu->home_id, id);
	WRITE_ONCE(cpu->waiter, waiter);
	/* The CPU sets its state first, and reads these then. */
	mb();
}

/* Notes that the context runs. */
static __always_inline void ak_awoke(struct ak_cpu *cpu)
{
	if (READ_ONCE(cpu->woken) && xchg(&cpu->woken, 0))
		atomic_dec(&ak_woken);
}

extern struct ak_cpu *ak_cpus[AK_CPUS_MAX];
extern unsigned int ak_cpu_count;
extern struct ak_counts ak_counts;
extern bool ak_poll, ak_halt, ak_ignore_stale;
extern unsigned int ak_burst, ak_calls_at_home, ak_slice_ms, ak_around, ak_wait;
extern u64 ak_nmis;
extern u32 *ak_eoi_register;

/* topology.c */
int ak_find_cpus(u32 *ids, unsigned int size, bool *others);

/* hotplug.c */
int ak_take_cpus(unsigned int wanted);
void ak_give_cpus_back(void);

/* start.c */
int ak_start_cpus(unsigned int wanted);
void ak_halt_cpu(struct ak_cpu *cpu);
void ak_halt_cpus(void);
void ak_stop_cpus(void);
void ak_interrupt(u32 apic_id, u32 mode);

/* cpu.c */
void ak_cpu_main(struct ak_cpu *cpu);
void ak_cpu_died(u64 vector, u64 error, u64 ip, u64 address);

/* thread.c */
int ak_thread_attach(struct task_struct *task, struct ak_thread *parent, bool local, gfp_t flags);
void ak_thread_end(struct ak_thread *thread);
void ak_thread_work(struct callback_head *head);
struct ak_thread *ak_thread_find(struct task_struct *task);
struct ak_mm *ak_mm_find(struct mm_struct *mm);
unsigned int ak_thread_count(void);
void ak_kick(struct ak_cpu *cpu);
void ak_recall(struct ak_cpu *cpu);
void ak_lose_cpu(struct ak_cpu *cpu);
void ak_pull(struct ak_mm *mm);
void ak_wake_waiters(void);

/* queue.c */
extern spinlock_t ak_threads_lock;
void ak_queue_init(void);
void ak_queue_exit(void);
void ak_queue_expect(struct ak_thread *thread);
void ak_queue_forget(struct ak_thread *thread);
void ak_thread_waits(struct ak_thread *thread);
bool ak_is_call_bound(struct ak_thread *thread);
void ak_calm(struct ak_thread *thread, struct task_struct *task);
struct ak_cpu *ak_place(struct ak_thread *thread);
struct ak_cpu *ak_trade(struct ak_thread *thread, struct ak_cpu *cpu);
void ak_displace(struct ak_thread *thread);
void ak_cpu_give(struct ak_cpu *cpu);
void ak_dispatch(void);
void ak_give_way(struct ak_thread *thread);

/* fault.c */
bool ak_fault(struct ak_cpu *cpu);

/* clear.c */
extern atomic_t ak_fill_count;
bool ak_clear_waits(struct ak_cpu *cpu);
void ak_clear_ends(struct ak_cpu *cpu);
void ak_clear_init(void);
void ak_clear_exit(void);

/* stay.c */
void ak_thread_leave(struct ak_thread *thread);

/* hooks.c */
int ak_hooks_init(void);
void ak_hooks_exit(void);
int ak_hooks_on(void);
void ak_hooks_off(void);
void ak_find_hooks(struct ak_hook *found, size_t count);
extern struct ak_probe { void **called, *own; } ak_probes[2];
struct ak_mm *ak_mm_get(struct mm_struct *mm);
struct ak_mm *ak_mm_share(struct ak_mm *mm, struct mm_struct *of);
void ak_mm_put(struct ak_mm *mm);

/* futex.c */
bool ak_futexes_are_seen(struct mm_struct *mm);
void ak_futexes_unseen(struct ak_thread *thread);
bool ak_futex_waits(struct pt_regs *regs, long number);
void ak_futex_enter(struct ak_thread *thread, struct pt_regs *regs, long number);
bool ak_futex_exit(struct ak_thread *thread, long result);

/* reclaim.c */
extern bool ak_reclaiming;
int ak_reclaim_init(void);
void ak_reclaim_exit(void);

/* proxy.c */
bool ak_proxy_faults(struct ak_cpu *cpu);
long ak_proxy_ioctl(struct file *file, unsigned int command, unsigned long argument);

/* entry.S, start_code.S */
void ak_enter_user(struct ak_cpu *cpu);
u64 ak_peek(u64 address);
void ak_syscall_entry(void);
void ak_nmi(void);
void ak_double_fault(void);
void ak_machine_check(void);
extern char ak_vectors[], ak_start_code[], ak_start_end[];
extern u32 ak_start_protected, ak_start_long;

#endif
