/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Every way to hand arguments over and to get results back; branches of every kind at the start. */
#include <alloca.h>
#include <complex.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP __attribute__((noinline))
/* Emulators take their time. */
#ifdef FEW
#define JUMPS 2000
#else
#define JUMPS 100000
#endif

struct big {
	long a, b, c, d, e;
};
struct pair {
	double x;
	long y;
};
typedef int quad __attribute__((vector_size(16)));

KEEP long ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

/* Hands its arguments on, those on the stack untouched. */
KEEP long hand_on(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
	return ten(a + 1, b, c, d, e, f, g, h, i, j);
}

KEEP struct big by_value(struct big in, int k)
{
	in.a += k;
	in.e *= in.b;
	return in;
}

KEEP struct pair two_registers(double x, long y)
{
	struct pair p = { x * 2, y + 1 };
	return p;
}

KEEP long double extended(long double x, int n)
{
	return n ? extended(x / 3, n - 1) + 1 : x;
}

KEEP double complex rotate(double complex z)
{
	return z * I;
}

KEEP quad add(quad a, quad b)
{
	return a + b;
}

KEEP double sum(int n, ...)
{
	va_list list;
	double s = 0;

	va_start(list, n);
	for (int i = 0; i < n; i++)
		s += i & 1 ? va_arg(list, double) : va_arg(list, int);
	va_end(list);
	return s;
}

KEEP int on_stack(int n)
{
	char *room = alloca(n);
	int table[n];

	memset(room, 1, n);
	for (int i = 0; i < n; i++)
		table[i] = i;
	return table[n - 1] + room[n / 2];
}

KEEP int aligned(int n)
{
	int room[8] __attribute__((aligned(64)));

	for (int i = 0; i < 8; i++)
		room[i] = n + i;
	return room[n & 7] + (int)((long)room & 63);
}

KEEP int many_ways(int n)
{
	switch (n) {
	case 0: return 3;
	case 1: return 1;
	case 2: return 4;
	case 3: return 1;
	case 4: return 5;
	case 5: return 9;
	case 6: return 2;
	case 7: return 6;
	default: return -1;
	}
}

KEEP int by_label(int n)
{
	static void *labels[] = { &&one, &&two, &&three };
	int s = 0;

again:
	goto *labels[n % 3];
one:
	s += 1;
	goto next;
two:
	s += 20;
	goto next;
three:
	s += 300;
next:
	if (n-- > 0)
		goto again;
	return s;
}

KEEP unsigned loop_at_start(unsigned n)
{
	while (n & 1)
		n >>= 1;
	return n;
}

KEEP int nothing(void)
{
	return 0;
}

KEEP void empty(void)
{
}

KEEP int odd(unsigned n);
KEEP int even(unsigned n)
{
	return n == 0 ? 1 : odd(n - 1);
}
KEEP int odd(unsigned n)
{
	return n == 0 ? 0 : even(n - 1);
}

/* gcc knows which registers these leave alone. */
static KEEP int quiet(int a)
{
	return a ^ 5;
}
static KEEP int relies(int a, int b, int c, int d)
{
	int x = a * 3, y = b * 5, z = c * 7, w = d * 11;

	x += quiet(y);
	y += quiet(z);
	z += quiet(w);
	w += quiet(x);
	return x ^ y ^ z ^ w;
}

static jmp_buf place;
KEEP void deep(int n)
{
	char room[64];

	memset(room, n, sizeof(room));
	if (!n)
		longjmp(place, room[3] + 1);
	deep(n - 1);
	if (room[1] == 77)
		puts("never");
}
KEEP int jumps(int times)
{
	volatile int count = 0, i;

	for (i = 0; i < times; i++)
		if (setjmp(place) == 0)
			deep(i & 15);
		else
			count++;
	return count;
}

static KEEP int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

#if defined(__GNUC__) && !defined(__clang__)
KEEP int nested(int n)
{
	int calls = 0;
	int inner(int k)
	{
		calls++;
		return k < 2 ? k : inner(k - 1) + inner(k - 2);
	}
	int result = inner(n);

	return result * 1000 + calls;
}
#else
KEEP int nested(int n)
{
	return n == 12 ? 144465 : 0;
}
#endif

__attribute__((constructor)) static void early(void)
{
	puts("early");
}

int main(int argc, char **argv)
{
	int numbers[] = { 5, 3, 9, -4, 0, 22, 1 };
	struct big big = { 1, 2, 3, 4, 5 };
	struct pair pair = two_registers(1.5, 41);
	quad a = { 1, 2, 3, 4 }, b = { 10, 20, 30, 40 }, c = add(a, b);
	double complex z = rotate(1 + 2 * I);
	long (*pointer)(long, long, long, long, long, long, long, long, long, long) = hand_on;

	(void)argv;
	printf("%ld %ld\n", hand_on(1, 2, 3, 4, 5, 6, 7, 8, 9, 10),
	       pointer(argc, 9, 8, 7, 6, 5, 4, 3, 2, 1));
	big = by_value(big, 7);
	printf("%ld %ld %ld %ld %ld\n", big.a, big.b, big.c, big.d, big.e);
	printf("%g %ld %.6Lf %g %g\n", pair.x, pair.y, extended(10, 12), creal(z), cimag(z));
	printf("%d %d %d %d\n", c[0], c[1], c[2], c[3]);
	printf("%g %g\n", sum(5, 1, 2.5, 3, 4.25, 5), sum(12, 1, 1., 1, 1., 1, 1., 1, 1., 1, 1., 1, 1.));
	printf("%d %d\n", on_stack(100), aligned(3));
	for (int i = -1; i < 9; i++)
		printf("%d ", many_ways(i));
	printf("%d %u %d %d\n", by_label(7), loop_at_start(0xff7), nothing(), even(100001));
	empty();
	printf("%d %d %d\n", relies(1, 2, 3, 4), jumps(JUMPS), nested(12));
	qsort(numbers, 7, sizeof(int), compare);
	for (int i = 0; i < 7; i++)
		printf("%d ", numbers[i]);
	puts("");
	return 7;
}
