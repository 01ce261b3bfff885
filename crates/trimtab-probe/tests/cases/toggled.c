/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Turns its probes off and on itself, by the signal that would do it from outside. */
#include <signal.h>

#define KEEP __attribute__((noinline))

static volatile long sum;

KEEP void work(void)
{
	sum++;
}

static void repeat(int count)
{
	for (int i = 0; i < count; i++)
		work();
}

int main(void)
{
	repeat(1000);
	raise(SIGUSR1);
	repeat(500);
	raise(SIGUSR1);
	repeat(30);
	return sum != 1530;
}
