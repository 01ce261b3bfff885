/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Exceptions in functions of which stubs have copies inside. */
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <unistd.h>
#include "trimtab_probe.h"

#define KEEP __attribute__((noinline))

volatile int zero;

extern "C" {

KEEP int copies_throws(int n)
{
	trimtab_probe_value += 3;
	if (n % 7 == 3)
		throw n;
	return n + zero;
}

static int (*volatile ends[])(int) = { copies_throws, copies_throws };

/* Ends with a jump by way of memory. */
KEEP int copies_anywhere(int n)
{
	trimtab_probe_value += 1;
	return ends[n & 1](n + 1);
}

__attribute__((cold)) KEEP int copies_rare(int n)
{
	return copies_throws(n) * 3;
}

/* What is rare is elsewhere, and throws. */
KEEP int copies_splits(int n)
{
	volatile int room[4] = { n, 2, 3, 4 };

	trimtab_probe_value += 2;
	if (__builtin_expect(n % 5 == 0, 0))
		room[n & 3] += copies_rare(n);
	trimtab_probe_value += 5;
	return copies_throws(room[n & 3]) + room[1];
}

/* No exception leaves it. */
KEEP int copies_ends_all(int n) noexcept
{
	volatile int room[4] = { n, 2, 3, 4 };

	return copies_throws(n) + room[n & 3];
}
}

static KEEP int catches(int (*what)(int), int n)
{
	try {
		return what(n);
	} catch (int thrown) {
		return thrown * 1000;
	}
}

[[noreturn]] static void ended()
{
	std::puts("ended");
	std::fflush(stdout);
	std::exit(0);
}

int main()
{
	long sum = 0;

	std::set_terminate(ended);
	for (int i = 0; i < 500; i++) {
		sum = sum * 3 + catches(copies_anywhere, i) + catches(copies_splits, i);
		sum ^= catches(copies_throws, i) + copies_ends_all(i * 7);
	}
	std::printf("%ld\n", sum);
	return catches(copies_ends_all, 3);
}
