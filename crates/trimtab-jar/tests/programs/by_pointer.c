// SPDX-License-Identifier: MIT OR Apache-2.0
/* Floating-point numbers through pointers to functions; functions that never return. */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pair { double a, b; };

#define KEPT __attribute__((noinline, noclone))

static KEPT double half(double x) { return x / 2; }
static KEPT float third(float x, float y) { return (x + y) / 3; }
static KEPT double mixed(int n, double x) { return n * x; }
static KEPT int whole(double x, double y) { return (int)(x * 10 + y); }
static KEPT double none(void) { return 0.5; }
static KEPT double complex turned(double complex z) { return z * I; }
static KEPT struct pair both(double a, float b) { return (struct pair){ b, a }; }
static KEPT double later(double (*f)(double), double x) { return f(x) + 1; }
static KEPT double passed_on(double (*f)(double), double x, int n)
{
	return n > 3 ? f(x) : f(-x);
}

static double sum(int n, ...)
{
	va_list list;
	double all = 0;

	va_start(list, n);
	while (n--)
		all += va_arg(list, double);
	va_end(list);
	return all;
}

/* Read only by a pointer that one function calls and another one sets. */
static double (*volatile one)(double);
static float (*volatile two)(float, float);
static double (*volatile late)(int, double);
static int (*volatile to_whole)(double, double);
static double (*volatile nothing)(void);
static double complex (*volatile turn)(double complex);
static struct pair (*volatile swap)(double, float);
static double (*volatile varied)(int, ...);
static double (*volatile of_pointer)(double (*)(double), double);
static double (*volatile maths[])(double) = { sin, cos, sqrt, floor, fabs, half };

static void by_pointers(int n)
{
	struct pair pair;
	double complex z;
	double all = 0;

	one = half;
	two = third;
	late = mixed;
	to_whole = whole;
	nothing = none;
	turn = turned;
	swap = both;
	varied = sum;
	of_pointer = later;
	printf("%g %g %g %d %g\n", one(n + 1.0), two(n, 2), late(n, 1.5), to_whole(n, 4), nothing());
	z = turn(n + 2 * I);
	pair = swap(n, 2.5f);
	printf("%g %g %g %g\n", creal(z), cimag(z), pair.a, pair.b);
	printf("%g %g\n", varied(3, 1.0, 2.0, (double)n), of_pointer(half, n));
	for (unsigned i = 0; i < sizeof maths / sizeof *maths; i++)
		all += maths[i](n + i / 4.0);
	printf("%.17g %g %g\n", all, passed_on(one, n, n), passed_on(sqrt, 4, 5));
}

/* Their ends are calls that several ways lead to. */
static void ends_of_maths(volatile double zero)
{
	volatile double large = 1e300, small = 1e-300;

	printf("%g %g %g %g\n", pow(zero, -1), pow(-1, 0.5 + zero), pow(large, 2), pow(small, 2));
	printf("%g %g %g\n", exp(large), exp(-large), pow(2, 0.5 + zero));
	printf("%g %g %g\n", log(zero), log(-1 + zero), fmod(1, zero));
}

static jmp_buf back;

static KEPT __attribute__((noreturn)) void leave(int n)
{
	if (n > 1)
		longjmp(back, n);
	exit(3);
}

static __attribute__((noreturn)) void (*volatile by)(int) = leave;

/* What follows the calls in memory is none of what they do. */
static KEPT int choose(int n, const char *text)
{
	switch (n) {
	case 0:
		return strlen(text);
	case 1:
		leave(5);
	case 2:
		if (text[0] == 'x')
			return 7;
		leave(6);
	case 3:
		by(8);
	default:
		return n * 2;
	}
}

static KEPT double never_by_one_way(int n)
{
	double x = sqrt(n);

	if (n == 9)
		leave(n);
	return x * 2;
}

int main(int count, char **arguments)
{
	int n = count > 1 ? (int)strlen(arguments[1]) : 0;

	if (count < 2)
		return 0;
	by_pointers(n);
	ends_of_maths(n - strlen(arguments[1]));
	for (volatile int i = 0; i < 5; i++) {
		int came = setjmp(back);

		printf("%d: %d\n", i, came ? -came : choose(i, arguments[1]));
	}
	for (volatile int i = 8; i < 11; i++) {
		if (setjmp(back))
			puts("left");
		else
			printf("%g\n", never_by_one_way(i));
	}
	by(1);
}
