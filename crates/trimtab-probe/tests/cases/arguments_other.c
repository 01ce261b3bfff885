/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What arguments.c and arguments.cc end with. */
#include "arguments.h"

long other_two(long a, long b)
{
	return a * 7 + b;
}

long other_nothing(long a)
{
	return a * 3;
}

long other_eight(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

long other_ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
	return other_eight(a, b, c, d, e, f, g, h) + 9 * i + 10 * j;
}

double other_nine(double a, double b, double c, double d, double e, double f, double g, double h,
		  double i)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i;
}

long double other_extended(long double a, long b)
{
	return a * 3 + b;
}

long other_wide(long a, long b, long c, long d, long e, __int128 f)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + (long)(f >> 64);
}

long other_promoted(long a, long b, long c)
{
	return a * b - c;
}

struct many other_many(long a, long b, long c, long d, long e, long f)
{
	return (struct many){ { a, b, c, d, e, f, 7 } };
}

__attribute__((ms_abi)) long other_windows(long a, long b, long c, long d, long e, long f)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

/* Writes where callers have room for it, as no compiler would need to here. */
__attribute__((ms_abi, naked)) long other_windows_room(long a, long b)
{
	__asm__("movq %rcx, 8(%rsp)\n\tmovq %rdx, 16(%rsp)\n\tmovq $-1, 24(%rsp)\n\tmovq $-1, 32(%rsp)\n\t"
		"movq 8(%rsp), %rax\n\taddq 16(%rsp), %rax\n\tret");
}
