/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Functions with arguments on the stack and without, whose instructions alone do not tell: they work on
 * addresses below their return address, or end with jumps to what is elsewhere.
 */
#include <stdarg.h>
#include <stdio.h>
#include "arguments.h"

#define KEEP __attribute__((noinline, noclone))

volatile long zero;
static long table[8];

/* Without. */

KEEP long none_indexed(long n, long at)
{
	long room[6];

	for (long i = 0; i < 6; i++)
		room[i] = n * i;
	room[(at ^ zero) % 6] += 3;
	return room[at] + room[5 - at];
}

KEEP long none_by_pointer(long n, long at)
{
	volatile long room[6] = { 1, 2, 3, 4, 5, n };
	volatile long *place = room + at % 6;

	while (place != room)
		n += *place--;
	return n;
}

KEEP long none_aligned(long n, long at)
{
	volatile long room[8] __attribute__((aligned(64))) = { n, 1, 2 };

	return room[at & 7] + ((long)room & 63);
}

KEEP long none_ends(long n, long at)
{
	return other_two(at + 1, n);
}

KEEP long none_ends_anywhere(long n, long (*end)(long, long))
{
	return end(n + 1, 4);
}

KEEP double none_mixed(double a, long b, float c, char d, double *e, enum kind f, long g, double h)
{
	volatile double room[4] = { a, c, h, *e };

	return room[(b + d + f + g) & 3];
}

/* With. */

KEEP long some_by_value(struct many many, long at)
{
	return many.words[at - 5] + many.words[at - 6 + zero];
}

KEEP long some_behind(long a, long b, long c, long d, long e, long f, long g, long h, long at)
{
	volatile long *place = &h;

	return a + b + c + d + e + f + g + *place + at;
}

KEEP long some_hands_on(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return other_eight(a + 1, b, c, d, e, f, g, h);
}

/* Its arguments have no names. */
KEEP long some_nameless(long a, long, long, long, long, long, long, long)
{
	long (*end)() = (long (*)())other_nothing;

	return end(a + 1);
}

KEEP double some_doubles(double a, double b, double c, double d, double e, double f, double g, double h,
			 double i)
{
	return other_nine(a + 1, b, c, d, e, f, g, h, i);
}

KEEP long double some_extended(long double a, long b)
{
	return other_extended(a, b + 1);
}

/* Two registers are wanted, and one is left. */
KEEP long some_wide(long a, long b, long c, long d, long e, __int128 f)
{
	return other_wide(a + 1, b, c, d, e, f);
}

KEEP long some_list(long n, ...)
{
	va_list list;
	long sum = 0;

	va_start(list, n);
	while (n--)
		sum = sum * 3 + va_arg(list, long);
	va_end(list);
	return sum;
}

/* The result is written where a hidden argument says. */
KEEP struct many some_result(long a, long b, long c, long d, long e, long f)
{
	return other_many(a + 1, b, c, d, e, f);
}

long some_old(a, b, c, d, e, f, g)
	long a, b, c, d, e, f, g;
{
	return other_eight(a, b, c, d, e, f, g, 1);
}

/* clang hands over what the pointers lead to, as nobody else sees it. */
static KEEP long some_promoted(const struct three *a, const struct three *b, const struct three *c)
{
	return other_promoted(a->x + b->x + c->x, a->y * b->y * c->y, a->z - b->z - c->z);
}

/* gcc makes clones: one with what is always the same, one of what is rare, and one with what the
 * pointers lead to in place of them. */
static __attribute__((noinline)) long clones_fewer(long n, long always, long at)
{
	volatile long room[4] = { n, always, at, 3 };

	return room[at & 3];
}

long clones_part(long n, long at)
{
	volatile long room[6];

	if (n == 0)
		return at;
	for (long i = 0; i < 6; i++)
		room[i] = other_two(n, i) + other_two(i, at);
	for (long i = 0; i < n; i++) {
		room[i % 6] += other_two(room[at % 6], i);
		printf("%ld", other_two(room[(at + i) % 6], i) & 1);
		puts(room[i % 6] == 5 ? "yes" : "no");
	}
	return room[at % 6] + other_two(n, room[2]) + other_two(at, room[3]);
}

static __attribute__((noinline)) long clones_taken_apart(struct three *a, struct three *b,
							 struct three *c, struct three *d)
{
	return other_promoted(a->x + b->x + c->x + d->x, a->y * b->y * c->y, d->y);
}

KEEP long clones(long n)
{
	struct three x = { n, n + 1, n * 2 }, y = { n, n ^ 5, zero }, z = { n - 7, zero, n };
	long sum = clones_fewer(n, 7, n + 1) + clones_fewer(n + 1, 7, n);

	sum += clones_taken_apart(&x, &y, &z, &x) + clones_taken_apart(&y, &x, &z, &z);
	sum += clones_part(n & 1, n + 2);
	sum *= clones_part(n & 3, n + 9);
	return sum;
}

#define WINDOWS __attribute__((ms_abi))

/* Callees may write above their return address, and have arguments there sooner. */
KEEP WINDOWS long windows_hands_on(long a, long b, long c, long d, long e, long f)
{
	return other_windows(a, b, c, d, e, f);
}

KEEP WINDOWS long windows_room(long a, long b)
{
	return other_windows_room(a, b);
}

/* Looks where it was called from. */
KEEP long frames(long n)
{
	void **volatile frame = __builtin_frame_address(0);

	return n + (frame[zero] != 0);
}

int main(void)
{
	struct many many = { { 1, 20, 300, 4000, 50000, 600000, 7000000 } };
	struct three x = { 1, 2, 3 }, y = { 4, 5, 6 }, z = { 7, 8, 9 };
	double half = 0.5;
	long sum = 0;

	for (long i = 0; i < 100; i++) {
		sum = sum * 5 + none_indexed(i, i % 6) + none_by_pointer(i, i);
		sum ^= none_aligned(i, i) + none_ends(i, sum) + none_ends_anywhere(i, other_two);
		sum += none_mixed(i, i, 2, 3, &half, TWO, i, 1.5);
		sum ^= some_by_value(many, 6) + some_behind(1, 2, 3, 4, 5, 6, 7, i, 9);
		sum += some_hands_on(i, 2, 3, 4, 5, 6, 7, 8) + some_nameless(i, 2, 3, 4, 5, 6, 7, 8);
		sum ^= (long)some_doubles(i, 2, 3, 4, 5, 6, 7, 8, 9) + (long)some_extended(i, 2);
		sum += some_wide(i, 2, 3, 4, 5, (__int128)i << 70) + some_list(9, i, 1l, 2l, 3l, 4l, 5l, 6l, 7l, 8l);
		sum ^= some_result(i, 2, 3, 4, 5, 6).words[i % 7] + some_old(i, 2l, 3l, 4l, 5l, 6l, 7l);
		sum += some_promoted(&x, &y, &z) + windows_hands_on(i, 2, 3, 4, 5, 6);
		sum ^= windows_room(i, 2) + frames(i) + clones(i);
		x.y += i;
		table[i & 7] ^= sum;
	}
	for (int i = 0; i < 8; i++)
		printf("%ld\n", table[i]);
	return 0;
}
