/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A function that the dynamic linker chooses: the code that chooses runs before the run time is there. */
#include <stdio.h>

#define KEEP __attribute__((noinline))

KEEP static long slow(long n)
{
	return n ? slow(n - 1) + 1 : 0;
}

static volatile int is_quick = 1;
static volatile long last;

KEEP static long quick(long n)
{
	last = n;
	return last;
}

static long (*choose(void))(long)
{
	return is_quick ? quick : slow;
}

long chosen(long n) __attribute__((ifunc("choose")));

KEEP long caller(long n)
{
	return chosen(n) + chosen(n + 1);
}

int main(void)
{
	long sum = slow(3);

	for (int i = 0; i < 100; i++)
		sum += caller(i);
	printf("%ld\n", sum);
	return 0;
}
