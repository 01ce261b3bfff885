/* Functions with arguments on the stack, and such that end with others of the kind. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NOINLINE __attribute__((noinline))

NOINLINE long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	char *memory = malloc(a);

	memory[a - 1] = (char)h;
	b += memory[a - 1];
	free(memory);
	return b + c * d + e * f + g * h;
}

NOINLINE long ends(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return many(a, c, b, d, h, g, f, e);
}

NOINLINE long ends_too(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return ends(a, b, d, c, e, f, h, g);
}

NOINLINE int sum(int n, ...)
{
	va_list list;
	int s = 0;

	va_start(list, n);
	while (n--)
		s += va_arg(list, int);
	va_end(list);
	return s;
}

NOINLINE long deep(long n)
{
	return n ? deep(n - 1) + ends_too(n, 1, 2, 3, 4, 5, 6, 7) : sum(8, 1, 2, 3, 4, 5, 6, 7, 8);
}

int main(void)
{
	printf("%ld\n", deep(20));
	return 0;
}
