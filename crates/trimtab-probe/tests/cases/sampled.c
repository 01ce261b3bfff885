/* Takes a while in one function, so that a profiler sees it there. */
#include <stdio.h>

__attribute__((noinline)) static long inner(long n)
{
	volatile long s = 0;

	for (long i = 0; i < n; i++)
		s += i;
	return s;
}

__attribute__((noinline)) static long middle(long n)
{
	long s = inner(n);

	__asm__ volatile("");
	return s + 1;
}

__attribute__((noinline)) static long outer(long n)
{
	long s = middle(n);

	__asm__ volatile("");
	return s + 1;
}

int main(void)
{
	printf("%ld\n", outer(100000000));
	return 0;
}
