/* A null pointer that nobody handles. */
#include <stdio.h>

static int __attribute__((noinline)) broken(int *pointer)
{
	return *pointer + 1;
}

int main(void)
{
	printf("before\n");
	fflush(stdout);
	return broken(NULL);
}
