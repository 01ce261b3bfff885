/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Almost nothing but calls. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((noinline)) long fib(long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(int argc, char **argv)
{
	printf("%ld\n", fib(argc > 1 ? atol(argv[1]) : 20));
	return 0;
}
