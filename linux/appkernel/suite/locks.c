// SPDX-License-Identifier: GPL-2.0-only
/* Memory that threads on several CPUs change at once, some of it with Linux's help. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "suite.h"

struct share {
	pthread_mutex_t mutex;
	long count;
};

static void *adds(void *data)
{
	struct share *share = data;

	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&share->mutex);
		share->count++;
		pthread_mutex_unlock(&share->mutex);
		if (i % 64 == 0)
			spin(20000);
	}
	return NULL;
}

int test_threads(void)
{
	static struct share share = { PTHREAD_MUTEX_INITIALIZER, 0 };
	pthread_t threads[4];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		if (pthread_create(&threads[i], NULL, adds, &share))
			return 1;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	return share.count != 4 * 2000;
}

static int shared_word;

static void *adds_atomically(void *data)
{
	(void)data;
	for (int i = 0; i < 300000; i++)
		__atomic_add_fetch(&shared_word, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Linux adds 1 to a word, again and again, in a way that is atomic on its own CPU only; gives whether it did. */
static bool linux_adds(void)
{
	static int nobody;
	int operation = FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0);

	for (int i = 0; i < 3000; i++)
		if (syscall(SYS_futex, &nobody, FUTEX_WAKE_OP, 0, 0, &shared_word, operation) < 0)
			return false;
	return true;
}

/* Three threads add, and whoever calls Linux; gives whether nothing is lost. */
static bool adds_beside(bool (*add)(void))
{
	pthread_t threads[3];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		if (pthread_create(&threads[i], NULL, adds_atomically, NULL))
			return false;
	if (!add())
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	return shared_word == 3 * 300000 + 3000;
}

/* Threads elsewhere add, while one of them has Linux add, too. */
int test_local_futex(void)
{
	return !adds_beside(linux_adds);
}

static volatile bool asked;

static void *adds_when_asked(void *data)
{
	(void)data;
	while (!asked)
		sched_yield();
	return (void *)(size_t)!linux_adds();
}

static pthread_t stranger;

static bool stranger_adds(void)
{
	void *failed;

	asked = true;
	return !pthread_join(stranger, &failed) && !failed;
}

/* The same, of a thread that was there before and was never attached. */
int test_stranger_futex(void)
{
	if (pthread_create(&stranger, NULL, adds_when_asked, NULL) || attach("attach"))
		return 1;
	return !adds_beside(stranger_adds);
}

static volatile unsigned long rounds_elsewhere;

static void *spins_elsewhere(void *data)
{
	(void)data;
	if (attach("attach") || !elsewhere())
		return NULL;
	for (;;)
		rounds_elsewhere++;
	return NULL;
}

/* How often another CPU is interrupted by so many barriers, each while a thread runs there. */
static long interrupted(int barriers)
{
	long before = counted("kicks");

	for (int i = 0; i < barriers; i++) {
		unsigned long round = rounds_elsewhere;

		while (rounds_elsewhere == round)
			sched_yield();
		if (syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0))
			return 0;
	}
	return counted("kicks") - before;
}

/* Linux with one CPU does nothing for a barrier on all: also for a thread that was never attached, all CPUs have one. */
int test_membarrier(void)
{
	pthread_t thread;

	if (syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) ||
	    pthread_create(&thread, NULL, spins_elsewhere, NULL))
		return 1;
	return interrupted(20) < 15 || attach("attach") || interrupted(20) < 15;
}

/* A mutex whose owners die: half of all lockers do. */
static pthread_mutex_t robust;
static long locked, inherited;

static void *locks(void *data)
{
	int error = pthread_mutex_lock(&robust);

	if (error == EOWNERDEAD) {
		inherited++;
		error = pthread_mutex_consistent(&robust);
	}
	if (error)
		return (void *)1;
	locked++;
	if ((long)data % 2)
		return NULL;
	pthread_mutex_unlock(&robust);
	return NULL;
}

/*
 * Linux marks the mutex of a dead owner without a lock prefix, while others set a bit in it to say that they
 * wait. If that bit is lost, its setter has not begun to sleep: Linux would have to run that call, and runs the
 * mark. It then finds another value than it expects, and looks again. Nobody else writes a mutex that has an
 * owner.
 */
int test_robust(void)
{
	pthread_mutexattr_t attributes;
	long rounds = 150, failed = 0;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	if (pthread_mutex_init(&robust, &attributes))
		return 1;
	for (long round = 0; round < rounds; round++) {
		pthread_t threads[4];
		void *result;

		for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
			if (pthread_create(&threads[i], NULL, locks, (void *)i))
				return 1;
		for (size_t i = 0; i < ARRAY_SIZE(threads); i++) {
			pthread_join(threads[i], &result);
			failed += result != NULL;
		}
	}
	/* The last may have died as its owner. */
	return failed || locked != 4 * rounds || inherited < 2 * rounds - 1 || inherited > 2 * rounds;
}
