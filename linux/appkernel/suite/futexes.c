// SPDX-License-Identifier: GPL-2.0-only
/* Waits and wakes that may be answered where the thread is: no wake is lost, whoever waits where, and by which call. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "suite.h"

#define ROUNDS 2000
#define BARRIERS 300

static long futex(void *word, int operation, unsigned int value, void *other, void *second, unsigned int bits)
{
	return syscall(SYS_futex, word, operation, value, other, second, bits);
}

static long answered_before;

static int begin(void)
{
	answered_before = counted("answered");
	return !elsewhere();
}

/* A ball between two threads, each of which takes from nothing to a millisecond to play it. */
static _Atomic unsigned int ball;

static unsigned int random_of(unsigned int *state)
{
	*state = *state * 1103515245 + 12345;
	return *state >> 16;
}

static void *plays(void *data)
{
	unsigned int me = (unsigned int)(intptr_t)data, random = me, seen;

	for (int i = 0; i < ROUNDS; i++) {
		while ((seen = atomic_load(&ball)) % 2 != me)
			futex(&ball, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
		/* Now and then longer than a CPU looks. */
		spin(random_of(&random) % 16 ? 1 + random_of(&random) % 3000 : 300000);
		atomic_fetch_add(&ball, 1);
		futex(&ball, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
	return NULL;
}

/* A barrier of the C library's: all wait for all, one of them on Linux's CPU. */
#define MOST 4
static pthread_barrier_t barrier;
static long steps[MOST], crowd;

static void *steps_along(void *data)
{
	intptr_t me = (intptr_t)data;
	unsigned int random = (unsigned int)me;

	for (long i = 0; i < BARRIERS; i++) {
		spin(1 + random_of(&random) % 2000);
		pthread_barrier_wait(&barrier);
		for (long other = 0; other < crowd; other++)
			if (steps[other] != i)
				return (void *)1;
		pthread_barrier_wait(&barrier);
		steps[me]++;
	}
	return NULL;
}

static int run_threads(void *(*run)(void *), long count)
{
	pthread_t threads[MOST];
	long failed = 0;
	void *result;

	for (intptr_t i = 0; i < count; i++)
		if (pthread_create(&threads[i], NULL, run, (void *)i))
			return 1;
	for (long i = 0; i < count; i++) {
		pthread_join(threads[i], &result);
		failed += result != NULL;
	}
	return failed != 0;
}

int test_futexes(void)
{
	/* As many as have a place each. */
	crowd = cpus() < MOST ? cpus() + 1 : MOST;
	if (begin() || pthread_barrier_init(&barrier, NULL, (unsigned int)crowd))
		return 1;
	/* On a busy machine all of them may wait in Linux. */
	return run_threads(plays, 2) || run_threads(steps_along, crowd);
}

/* What the CPU answers itself. */
static int answers_are_wrong(unsigned int *word)
{
	int wait = FUTEX_WAIT_PRIVATE, bits = FUTEX_WAIT_BITSET_PRIVATE, wake = FUTEX_WAKE_BITSET_PRIVATE;

	if (futex(word, wait, 4, NULL, NULL, 0) != -1 || errno != EAGAIN)
		return 1;
	if (futex(word, bits | FUTEX_CLOCK_REALTIME, 4, NULL, NULL, 1) != -1 || errno != EAGAIN)
		return 1;
	return futex(word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0) || futex(word, wake, 1, NULL, NULL, 1);
}

/* What Linux has an error for, also where there is nothing. */
static int errors_are_wrong(unsigned int *word, char *gone)
{
	int wait = FUTEX_WAIT_PRIVATE;
	struct timespec soon = { 0, 1000000 };

	if (futex(word, wait | FUTEX_CLOCK_REALTIME, 4, NULL, NULL, 0) != -1 || errno != ENOSYS)
		return 1;
	if (futex(word, FUTEX_WAIT_BITSET_PRIVATE, 4, NULL, NULL, 0) != -1 || errno != EINVAL)
		return 1;
	if (futex(word, FUTEX_WAKE_BITSET_PRIVATE, 1, NULL, NULL, 0) != -1 || errno != EINVAL)
		return 1;
	if (futex((char *)word + 1, wait, 4, NULL, NULL, 0) != -1 || errno != EINVAL)
		return 1;
	if (futex(gone, wait, 4, NULL, NULL, 0) != -1 || errno != EFAULT)
		return 1;
	if (futex((void *)-4096L, wait, 4, NULL, NULL, 0) != -1 || errno != EFAULT)
		return 1;
	return futex(word, wait, 5, &soon, NULL, 0) != -1 || errno != ETIMEDOUT;
}

/* Results are Linux's, whoever gives them. */
int test_futex_results(void)
{
	static unsigned int word = 5;
	char *gone = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double began = now();

	if (begin() || gone == MAP_FAILED || munmap(gone, PAGE))
		return 1;
	do {
		for (int i = 0; i < 100; i++)
			if (answers_are_wrong(&word))
				return 1;
	} while (counted("answered") - answered_before < 300 && now() - began < 30);
	return counted("answered") - answered_before < 300 || errors_are_wrong(&word, gone);
}

/* What is moved to another futex is still woken there, and what waits at two is woken at each. */
static unsigned int first, second;
static _Atomic int woken;

static void *waits_first(void *data)
{
	(void)data;
	futex(&first, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	atomic_fetch_add(&woken, 1);
	return NULL;
}

static int moves_and_wakes(void)
{
	pthread_t threads[2];
	long moved = 0;

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		if (pthread_create(&threads[i], NULL, waits_first, NULL))
			return 1;
	while (moved < 2) {
		moved += futex(&first, FUTEX_REQUEUE_PRIVATE, 0, (void *)2, &second, 0);
		usleep(1000);
	}
	for (int i = 0; i < 2; i++) {
		spin(200000);
		if (futex(&second, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) != 1)
			return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	return atomic_load(&woken) != 2;
}

int test_futex_moves(void)
{
	return begin() || moves_and_wakes();
}

/* Who waits already, asleep in Linux, is found by each wake; and one without a record is no one's to forget. */
static void *waits_long(void *data)
{
	unsigned int *word = data;

	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		futex(word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
	return NULL;
}

/* If the wake is lost, this waits until its time is over. */
static void wake(pthread_t thread, unsigned int *word)
{
	__atomic_store_n(word, 1, __ATOMIC_RELEASE);
	futex(word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	pthread_join(thread, NULL);
}

int test_futex_sleepers(void)
{
	static unsigned int words[20];
	pthread_t thread;

	if (begin())
		return 1;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (pthread_create(&thread, NULL, waits_long, &words[i]))
			return 1;
		usleep(20000);
		spin(200000);
		wake(thread, &words[i]);
	}
	return 0;
}

/* Who waits for a time, and is stopped meanwhile, waits on by another system call. */
static void *waits_for_a_time(void *data)
{
	struct timespec long_time = { 3000, 0 };
	unsigned int *word = data;

	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		futex(word, FUTEX_WAIT_PRIVATE, 0, &long_time, NULL, 0);
	return NULL;
}

static int is_stopped_for_a_moment(void)
{
	pid_t parent = getpid(), child = fork();
	int result;

	if (child == 0) {
		kill(parent, SIGSTOP);
		usleep(50000);
		_exit(kill(parent, SIGCONT) != 0);
	}
	return child > 0 && waitpid(child, &result, 0) == child && result == 0;
}

int test_futex_restart(void)
{
	static unsigned int word;
	pthread_t thread;

	if (begin() || pthread_create(&thread, NULL, waits_for_a_time, &word))
		return 1;
	usleep(20000);
	if (!is_stopped_for_a_moment())
		return 1;
	usleep(20000);
	spin(200000);
	wake(thread, &word);
	return 0;
}

/* A process whose other thread was there before: nobody counts where that one waits. */
int test_futex_stranger(void)
{
	static unsigned int word;
	pthread_t thread;

	if (pthread_create(&thread, NULL, waits_long, &word))
		return 1;
	usleep(20000);
	if (attach("attach local") || !elsewhere())
		return 1;
	usleep(20000);
	spin(200000);
	wake(thread, &word);
	return 0;
}
