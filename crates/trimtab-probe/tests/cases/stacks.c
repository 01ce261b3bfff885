/* Lists the calls under way, by the C library. */
#include <execinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define CALLS 100

NOINLINE void last(void)
{
	void *calls[CALLS];
	int count = backtrace(calls, CALLS);
	char **names = backtrace_symbols(calls, count);

	printf("%d\n", count);
	for (int i = 0; i < 6; i++) {
		char *name = strchr(names[i], '('), *end = strchr(names[i], '+');

		if (name && end)
			printf("%.*s\n", (int)(end - name - 1), name + 1);
	}
	free(names);
	fflush(stdout);
	if (getenv("DESCRIBE"))
		backtrace_symbols_fd(calls, count, 1);
	__asm__ volatile("");
}

NOINLINE long stacked(long a, long b, long c, long d, long e, long f, long g)
{
	last();
	__asm__ volatile("");
	return a + g;
}

NOINLINE long middle(long n)
{
	long r = stacked(n, n, n, n, n, n, n);

	__asm__ volatile("");
	return r;
}

NOINLINE long first(long n)
{
	long r = n ? first(n - 1) : middle(n);

	__asm__ volatile("");
	return r;
}

int main(void)
{
	long r = first(1);

	__asm__ volatile("");
	return (int)r;
}
