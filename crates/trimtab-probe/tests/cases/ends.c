/* Functions that are under way when the program ends. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) static long work(long n)
{
	volatile long s = 0;
	for (long i = 0; i < n; i++)
		s += i;
	return s;
}

__attribute__((noinline)) static void finish(long n)
{
	printf("%ld\n", work(n));
	fflush(stdout);
	if (n & 1)
		quick_exit(0);
	exit(0);
}

__attribute__((noinline)) static void server(long n)
{
	work(20 * n);
	finish(n);
	__asm__ volatile("");
}

int main(int count, char **unused)
{
	(void)unused;
	server(200000 + QUICK + count - 1);
	return 1;
}
