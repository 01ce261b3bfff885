// SPDX-License-Identifier: GPL-2.0-only
/* Huge pages, which the module's CPUs clear: nobody finds anything of others in them. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "suite.h"

#define HUGE (2UL << 20)
#define COUNT 8UL
#define THREADS 3

static unsigned long *pages;
static pthread_barrier_t barrier;

static unsigned long *region(void)
{
	char *at = mmap(NULL, (COUNT + 1) * HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	return (unsigned long *)(((uintptr_t)at + HUGE - 1) / HUGE * HUGE);
}

/* Leaves frames in the machine that are full of something. */
static int fill(void)
{
	int result;
	pid_t child = fork();

	if (child == 0) {
		unsigned long *at = elsewhere() ? region() : NULL;

		if (at)
			memset(at, 0xa5, COUNT * HUGE);
		_exit(!at);
	}
	return child < 0 || waitpid(child, &result, 0) != child || result;
}

/* Each comes to each page at the same time, from another side; gives how much was not cleared. */
static void *look(void *data)
{
	unsigned long own = (unsigned long)data, words = HUGE / sizeof(*pages), wrong = 0;

	elsewhere();
	for (unsigned long i = 0; i < COUNT; i++) {
		unsigned long *page = pages + i * words, start = own * words / THREADS;

		pthread_barrier_wait(&barrier);
		if (own == i % THREADS)
			page[start] = 0;
		for (unsigned long j = 0; j < words; j++)
			wrong += ((volatile unsigned long *)page)[(start + j) % words] != 0;
	}
	return (void *)wrong;
}

int test_huge(void)
{
	long before = counted("cleared");
	pthread_t threads[THREADS];
	int wrong = 0;

	if (fill() || pthread_barrier_init(&barrier, NULL, THREADS))
		return 1;
	pages = region();
	if (!pages)
		return 1;
	for (unsigned long i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, look, (void *)i))
			return 1;
	for (int i = 0; i < THREADS; i++) {
		void *result;

		wrong |= pthread_join(threads[i], &result) || result;
	}
	return wrong || counted("cleared") == before;
}
