/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that call each other in all ways, for being co-located: chains, circles, numbers of all types, pointers, jumps out. */
#include <alloca.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OWN __attribute__((noinline, noclone))

static volatile int seed = 1;
static jmp_buf place;
static sigjmp_buf fault_place;

/* A chain, called from several places. */
OWN static int third(int a, int b) { return a * 31 + (b ^ seed); }
OWN static int second(int a, int b)
{
	int sum = third(a, b);
	for (int i = 0; i < 3; i++)
		sum += third(sum, i) - third(b, sum);
	return sum ^ a;
}
OWN static int first(int a)
{
	int here = second(a, 1), there = third(here, 2);
	if (a & 1)
		there -= second(here, there);
	return here + 7 * there;
}
/* Its results are those of what it calls last. */
OWN static int passes_on(int a, int b) { return b & 4 ? third(b, a) : second(b + 1, a); }
OWN static int more_arguments(int a, int b, int c, int d, int e, int f, long long g)
{
	return third(a - f, b * e) + c * d + (int)(g >> 20) + second(e, f);
}

/* Circles: one alone, of two, and of three. */
OWN static unsigned fibonacci(unsigned n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
OWN static int is_odd(unsigned n);
OWN static int is_even(unsigned n) { return n == 0 ? 1 : is_odd(n - 1) + seed - 1; }
OWN static int is_odd(unsigned n) { return n == 0 ? 0 : is_even(n - 1) + seed - 1; }
static const char *text;
OWN static int sum_of(void);
OWN static int number(void)
{
	if (*text == '(') {
		text++;
		int value = sum_of();
		text++;
		return value;
	}
	return *text++ - '0';
}
OWN static int product_of(void)
{
	int value = number();
	while (*text == '*') {
		text++;
		value *= number();
	}
	return value;
}
OWN static int sum_of(void)
{
	int value = product_of();
	while (*text == '+') {
		text++;
		value += product_of();
	}
	return value;
}

/* Other types. */
struct pair { int x, y; };
OWN static double distance(double x, double y) { return sqrt(x * x + y * y) + seed; }
OWN static float shorter(float a, int by) { return a / by + (float)distance(a, by); }
OWN static long long wide(int a, long long b) { return (b << 7) + a * (long long)shorter(a, 3); }
OWN static struct pair both(int a) { return (struct pair){ third(a, a), (int)wide(a, a) }; }
OWN static void store(double *to, int a) { *to += distance(a, *to) * shorter((float)*to, a + 1); }
OWN static double of_all(int a)
{
	double sum = 0.25;
	struct pair pair = both(a);
	for (int i = 1; i < 4; i++) {
		store(&sum, i);
		sum += distance(sum, i) - shorter((float)sum, i);
	}
	return sum + pair.x % 1000 + pair.y % 1000 + (double)(wide(a, pair.x) % 1000);
}

/* Pointers, and calls that come back. */
OWN static int before(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }
OWN static int sorted(int *list, int count)
{
	qsort(list, count, sizeof *list, before);
	int right = 0;
	for (int i = 1; i < count; i++)
		right += before(list + i - 1, list + i) <= 0;
	return right;
}
OWN static int apply(int (*function)(int), int a);
OWN static int comes_back(int a) { return a <= 0 ? third(a, 3) : a + apply(comes_back, a - 1) + third(a, 1); }
OWN static int apply(int (*function)(int), int a) { return function(a) ^ 1; }

/* Frames of sizes that are not known before, and arguments of any number. */
OWN static int fill(char *to, int size)
{
	int sum = 0;
	for (int i = 0; i < size; i++)
		sum += to[i] = (char)(i * seed);
	return sum;
}
OWN static int of_size(int size)
{
	char *room = alloca(size);
	int sum = fill(room, size);
	return sum + room[size - 1] + third(size, sum);
}
OWN static int sum_all(int count, ...)
{
	va_list list;
	int sum = 0;
	va_start(list, count);
	while (count--)
		sum += third(va_arg(list, int), sum);
	va_end(list);
	return sum;
}

/* Jumps out. */
OWN static int leaves(int a)
{
	if (a > 3)
		longjmp(place, third(a, 1) | 1);
	return third(a, a);
}
OWN static int may_leave(int a) { return leaves(a) + leaves(a + 1); }
OWN static int catches(int a)
{
	volatile int kept = a;
	int value = setjmp(place);
	return value ? value ^ kept : may_leave(a) + kept;
}
OWN static int around(int a) { return catches(a) + third(a, 9); }
OWN static int reads(volatile int *from) { return *from + third(1, 2); }
OWN static int may_fault(int a) { return a ? reads(&seed) : reads(NULL); }
static void on_fault(int signal) { siglongjmp(fault_place, signal); }
OWN static int catches_fault(int a)
{
	int signal = sigsetjmp(fault_place, 1);
	return signal ? 100 + signal : may_fault(a);
}
OWN static void __attribute__((noreturn)) ends(int status)
{
	printf("it ends with %d\n", third(status, 0) & 7);
	fflush(stdout);
	exit(third(status, 0) & 7);
}
OWN static int ends_at(int a, int end)
{
	if (a == end)
		ends(a);
	return second(a, end);
}

static int rounds(int from, int to)
{
	unsigned sum = 0;
	for (int i = from; i < to; i++) {
		sum = sum * 3 + first(i) + passes_on(i, i >> 1) + more_arguments(i, 2, 3, 4, i, 6, (long long)i << 33);
		sum += is_even(i % 50) + 2 * is_odd(i % 31) + comes_back(i % 7) + of_size(i % 90 + 1);
		sum += sum_all(5, i, 2, 3, i, 5) + around(i % 6) + may_fault(1) + ends_at(i, -1);
		text = i & 1 ? "2*(3+4*(1+5))+7" : "9+8*7";
		sum ^= sum_of();
		sum += fibonacci(i % 11);
	}
	return sum;
}

int main(int argc, char **argv)
{
	int list[50];
	signal(SIGSEGV, on_fault);
	for (int i = 0; i < 4; i++)
		printf("%x %a %a %a\n", rounds(i, i + 1), of_all(i), shorter(i, 2), distance(i, 4));
	for (int i = 0; i < 50; i++)
		list[i] = first(i) % 100;
	printf("%d %d %d\n", sorted(list, 50), before(list, list + 1), list[0]);
	printf("%d %d %llx\n", catches_fault(0), catches_fault(1), wide(argc, 1LL << 40));
	double all = 0;
	for (int i = 0; i < 20000; i++)
		all += of_all(i % 13);
	printf("%x %a\n", rounds(0, 20000), all);
	for (int i = 0; i < 3; i++)
		ends_at(i, argc > 1 ? 2 : 1);
	return strlen(argv[0]) == 0;
}
