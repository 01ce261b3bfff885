/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A number that grows while functions run, in each way in which a function can be left. */
#include "../../../../probe/trimtab_probe.h"

#define KEPT extern "C" __attribute__((noinline, noclone))

KEPT void grow(long by)
{
	trimtab_probe_value += (uint64_t)by;
}

KEPT void nothing(void)
{
	__asm__ volatile("nopl (%rax); nopl (%rax)");
}

/* Its arguments lie above its return address. */
KEPT long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	grow(g + h);
	return a + b + c + d + e + f;
}

KEPT long recursive(long n)
{
	long rest = -1;

	grow(1);
	if (n)
		rest = recursive(n - 1);
	/* A compiler would make a loop of it. */
	__asm__ volatile("" : "+r"(rest));
	return rest + 1;
}

KEPT void falls(void)
{
	grow(-5);
}

KEPT void thrower(void)
{
	grow(7);
	throw 1;
}

/* An exception passes through a function that could have returned. */
KEPT long passes(long n)
{
	long kept = n * 3;

	grow(2);
	if (n)
		thrower();
	return kept + (long)trimtab_probe_value;
}

KEPT long catcher(void)
{
	try {
		passes(1);
	} catch (int thrown) {
		return thrown;
	}
	return 0;
}

KEPT void more_than_half_of_a_word(void)
{
	grow(1l << 40);
}

int main()
{
	long sum = 0;
	int i;

	for (i = 0; i < 1000; i++) {
		grow(3);
		nothing();
		sum += many(1, 2, 3, 4, 5, 6, 10, 20);
		sum += catcher();
	}
	sum += recursive(9);
	falls();
	more_than_half_of_a_word();
	return sum == 1000 * 22 + 9 ? 0 : 1;
}
