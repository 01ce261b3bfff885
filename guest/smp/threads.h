/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What workloads with threads share: a barrier, the part of a range that a thread has, random numbers
 * that are the same each time, and the way in which they fail.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_THREADS 64

static int threads;
static pthread_barrier_t barrier;

static inline void fail(const char *what)
{
	printf("%s\n", what);
	exit(1);
}

/* A number on the command line, which must be from `least` to `most`. */
static inline long argument(char **argv, int place, long least, long most)
{
	char *end = NULL;
	long value = argv[place] ? strtol(argv[place], &end, 10) : least - 1;

	if (!end || *end || value < least || value > most) {
		printf("argument %d: expected a number from %ld to %ld\n", place, least, most);
		exit(2);
	}
	return value;
}

static inline void *memory(size_t count, size_t size)
{
	void *found = calloc(count, size);

	if (!found)
		fail("there is not enough memory");
	return found;
}

static inline void wait_for_all(void)
{
	pthread_barrier_wait(&barrier);
}

/* The first of the things out of `count` that a thread has; those of the next one begin after them. */
static inline long part(long count, int thread)
{
	return count * thread / threads;
}

/* Runs `body` with the numbers from 0 on, this thread among them. */
static inline void on_all(void *(*body)(void *))
{
	pthread_t others[MOST_THREADS];

	if (pthread_barrier_init(&barrier, NULL, (unsigned int)threads) != 0)
		fail("there is no barrier");
	for (intptr_t number = 1; number < threads; number++)
		if (pthread_create(&others[number], NULL, body, (void *)number) != 0)
			fail("a thread could not be started");
	body(NULL);
	for (int number = 1; number < threads; number++)
		pthread_join(others[number], NULL);
}

/* xorshift64* of S. Vigna. */
static inline uint64_t random_after(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

/* From 0 to 1. */
static inline double random_share(uint64_t *state)
{
	return (double)(random_after(state) >> 11) / 9007199254740992.0;
}
