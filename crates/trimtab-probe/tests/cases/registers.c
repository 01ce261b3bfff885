/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions whose callers may, or may not, count on scratch registers. */
extern void elsewhere(long value);

long calls_out(long a)
{
	elsewhere(a);
	return a + 1;
}

/* Reads its third argument before it writes that register. */
long third(long a, long b, long c)
{
	elsewhere(a);
	return b + c;
}

__attribute__((noinline)) static long leaf(long a, long b)
{
	return a * b + 5;
}

/* Changes no more than its callee does, which is known here. */
__attribute__((noinline)) static long near(long a)
{
	return leaf(a, 3) + leaf(a + 1, 4);
}

long both(long a)
{
	return near(a) - near(a + 2);
}
