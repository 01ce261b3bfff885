/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Says what a thread that only computes does not have its CPU for: noise CPU MILLISECONDS [elsewhere].
 *
 * The thread does the same work again and again, a quantum of it each time, and reads the processor's counter in
 * between. In a guest where an instruction takes a nanosecond, the counter of a CPU that never waits counts the
 * instructions that it executes. So what a quantum takes above the shortest one is what the CPU did for others.
 *
 * The thread is bound to Linux's CPU of that number; with `elsewhere` it must be on one that Linux does not know,
 * whichever that is. It writes one line each:
 *
 *     trimtab: noise quanta NUMBER           how many quanta it did
 *     trimtab: noise least NUMBER            the counter in the shortest of them, in the longest, and in that
 *     trimtab: noise most NUMBER             which all but one in 10,000 do not exceed
 *     trimtab: noise p9999 NUMBER
 *     trimtab: noise instructions NUMBER     what all of them took above the shortest
 */
#define _GNU_SOURCE /* CPU_SET */
#include <cpuid.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <x86intrin.h>

/* Rounds of two instructions. */
#define ROUNDS 100000

static int fail(const char *what)
{
	printf("noise: %s\n", what);
	return 1;
}

static unsigned int apic_id(void)
{
	unsigned int a, b = 0, c, d;

	__get_cpuid(1, &a, &b, &c, &d);
	return b >> 24;
}

static inline void work(void)
{
	long left = ROUNDS;

	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(left) : : "cc");
}

static int by_size(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

/* Computes until it is where it should be; a thread that just made calls may have to wait for that. */
static int settle(int elsewhere, int cpu)
{
	cpu_set_t set;

	if (!elsewhere) {
		CPU_ZERO(&set);
		CPU_SET((size_t)cpu, &set);
		return sched_setaffinity(0, sizeof(set), &set);
	}
	for (int i = 0; i < 1000; i++) {
		work();
		if (apic_id() != 0)
			return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	int elsewhere = argc > 3 && !strcmp(argv[3], "elsewhere");
	long cpu = argc > 2 ? atol(argv[1]) : -1, milliseconds = argc > 2 ? atol(argv[2]) : 0;
	uint64_t *quanta, before, outside = 0;
	size_t count, worst;
	unsigned int where;

	if (cpu < 0 || cpu > 63 || milliseconds < 1 || milliseconds > 1000000) {
		fail("expected a CPU and a number of milliseconds");
		return 2;
	}
	count = (size_t)milliseconds * (1000000 / (2 * ROUNDS));
	quanta = calloc(count, sizeof(*quanta));
	if (!quanta)
		return fail("there is not enough memory");
	/* No page of it is touched for the first time later. */
	memset(quanta, 1, count * sizeof(*quanta));
	if (settle(elsewhere, (int)cpu))
		return fail("the thread is not where it should be");
	/* What the calls before left to do is done. */
	for (int i = 0; i < 250; i++)
		work();
	where = apic_id();
	before = __rdtsc();
	/* The first one does not begin where the others do. */
	for (size_t turn = 0; turn <= count; turn++) {
		size_t at = turn ? turn - 1 : 0;
		uint64_t now;

		work();
		now = __rdtsc();
		quanta[at] = now - before;
		before = now;
	}
	if (apic_id() != where || (elsewhere && where == 0))
		return fail("the thread has moved");
	qsort(quanta, count, sizeof(*quanta), by_size);
	for (size_t at = 0; at < count; at++)
		outside += quanta[at] - quanta[0];
	worst = count - 1 - count / 10000;
	printf("trimtab: noise quanta %zu\ntrimtab: noise least %llu\n", count, (unsigned long long)quanta[0]);
	printf("trimtab: noise most %llu\n", (unsigned long long)quanta[count - 1]);
	printf("trimtab: noise p9999 %llu\n", (unsigned long long)quanta[worst]);
	printf("trimtab: noise instructions %llu\n", (unsigned long long)outside);
	return 0;
}
