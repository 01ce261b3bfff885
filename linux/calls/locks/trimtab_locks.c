// SPDX-License-Identifier: GPL-2.0-only
/*
 * What it costs to take and give back a lock that nobody else wants, in ticks of
 * the time-stamp counter. Each kind is taken many times in a loop, less what the
 * loop takes without it; the median of some rounds is a parameter of the module.
 */
#include <linux/compiler.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rwsem.h>
#include <linux/sort.h>
#include <linux/spinlock.h>
#include <linux/timex.h>
#include <linux/types.h>

#define PAIRS	1000
#define ROUNDS	21

static unsigned int spin, mutex, rwsem_read;
module_param(spin, uint, 0444);
MODULE_PARM_DESC(spin, "a spin lock, taken and given back");
module_param(mutex, uint, 0444);
MODULE_PARM_DESC(mutex, "a mutex");
module_param(rwsem_read, uint, 0444);
MODULE_PARM_DESC(rwsem_read, "a semaphore for many readers, by one of these");

static DEFINE_SPINLOCK(spin_lock_of_ours);
static DEFINE_MUTEX(mutex_of_ours);
static DECLARE_RWSEM(rwsem_of_ours);

/* Each loop is a function of its own, so that nothing of one is moved to another. */
static noinline void with_nothing(void)
{
	unsigned int pair;

	for (pair = 0; pair < PAIRS; pair++)
		barrier();
}

static noinline void with_spin(void)
{
	unsigned int pair;

	for (pair = 0; pair < PAIRS; pair++) {
		spin_lock(&spin_lock_of_ours);
		barrier();
		spin_unlock(&spin_lock_of_ours);
	}
}

static noinline void with_mutex(void)
{
	unsigned int pair;

	for (pair = 0; pair < PAIRS; pair++) {
		mutex_lock(&mutex_of_ours);
		barrier();
		mutex_unlock(&mutex_of_ours);
	}
}

static noinline void with_rwsem_read(void)
{
	unsigned int pair;

	for (pair = 0; pair < PAIRS; pair++) {
		down_read(&rwsem_of_ours);
		barrier();
		up_read(&rwsem_of_ours);
	}
}

static int by_size(const void *one, const void *other)
{
	u64 a = *(const u64 *)one, b = *(const u64 *)other;

	return a < b ? -1 : a > b;
}

/* The first round is not counted, as it finds the caches empty; an interrupt spoils a round. */
static u64 median(void (*loop)(void))
{
	u64 found[ROUNDS];
	int round;

	for (round = -1; round < ROUNDS; round++) {
		u64 began = get_cycles();

		loop();
		if (round >= 0)
			found[round] = get_cycles() - began;
	}
	sort(found, ROUNDS, sizeof(found[0]), by_size, NULL);
	return found[ROUNDS / 2];
}

static unsigned int cost(void (*loop)(void), u64 nothing)
{
	u64 all = median(loop);

	return all > nothing ? (unsigned int)(all - nothing + PAIRS / 2) / PAIRS : 0;
}

static int __init trimtab_locks_init(void)
{
	u64 nothing = median(with_nothing);

	spin = cost(with_spin, nothing);
	mutex = cost(with_mutex, nothing);
	rwsem_read = cost(with_rwsem_read, nothing);
	return 0;
}
module_init(trimtab_locks_init);

MODULE_DESCRIPTION("What a lock costs that nobody else wants");
MODULE_LICENSE("GPL");
