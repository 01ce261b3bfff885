/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sorts random numbers of 32 bits by digits of 8 bits, with threads: radix THREADS COUNT.
 *
 * Each thread counts the digits of its part. From the counts of all threads follows where each puts its
 * numbers. Then the numbers must be in order, and their sum and their exclusive or must be those from before.
 */
#include "threads.h"

#define DIGITS 256
#define PASSES 4

static long count;
static uint32_t *from, *to;
static long counts[MOST_THREADS][DIGITS];
static uint64_t sums[2][MOST_THREADS];
static uint32_t folded[2][MOST_THREADS];
static bool wrong[MOST_THREADS];

static void fold(int when, int me, const uint32_t *numbers)
{
	for (long at = part(count, me); at < part(count, me + 1); at++) {
		sums[when][me] += numbers[at];
		folded[when][me] ^= numbers[at];
	}
}

static void pass(int me, int shift, const uint32_t *source, uint32_t *target)
{
	long places[DIGITS], place = 0;
	long begin = part(count, me), end = part(count, me + 1);

	for (int digit = 0; digit < DIGITS; digit++)
		counts[me][digit] = 0;
	for (long at = begin; at < end; at++)
		counts[me][source[at] >> shift & (DIGITS - 1)]++;
	wait_for_all();
	for (int digit = 0; digit < DIGITS; digit++)
		for (int thread = 0; thread < threads; thread++) {
			if (thread == me)
				places[digit] = place;
			place += counts[thread][digit];
		}
	for (long at = begin; at < end; at++)
		target[places[source[at] >> shift & (DIGITS - 1)]++] = source[at];
	wait_for_all();
}

static void *sort(void *number)
{
	int me = (int)(intptr_t)number;
	uint64_t state = 0x9e3779b97f4a7c15ULL * (uint64_t)(me + 1);

	for (long at = part(count, me); at < part(count, me + 1); at++)
		from[at] = (uint32_t)(random_after(&state) >> 32);
	fold(0, me, from);
	wait_for_all();
	for (int done = 0; done < PASSES; done++)
		pass(me, 8 * done, done % 2 ? to : from, done % 2 ? from : to);
	fold(1, me, from);
	for (long at = part(count, me); at < part(count, me + 1); at++)
		if (at > 0 && from[at - 1] > from[at])
			wrong[me] = true;
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t sum[2] = {0, 0};
	uint32_t fold_of[2] = {0, 0};

	(void)argc;
	threads = (int)argument(argv, 1, 1, MOST_THREADS);
	count = argument(argv, 2, MOST_THREADS, 1L << 28);
	from = memory((size_t)count, sizeof(*from));
	to = memory((size_t)count, sizeof(*to));
	on_all(sort);
	for (int thread = 0; thread < threads; thread++) {
		if (wrong[thread])
			fail("radix: the numbers are not in order");
		for (int when = 0; when < 2; when++) {
			sum[when] += sums[when][thread];
			fold_of[when] ^= folded[when][thread];
		}
	}
	if (sum[0] != sum[1] || fold_of[0] != fold_of[1])
		fail("radix: the numbers are not those from before");
	return 0;
}
