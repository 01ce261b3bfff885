/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A child that counts for itself. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

static volatile long sum;

KEEP void before(void)
{
	sum += 1;
}

KEEP void both(void)
{
	sum += 2;
	before();
}

KEEP void child_only(void)
{
	sum += 3;
}

KEEP void parent_only(void)
{
	sum += 4;
}

static void repeat(void (*function)(void), int count)
{
	for (int i = 0; i < count; i++)
		function();
}

int main(void)
{
	int status;
	pid_t child;

	repeat(before, 10);
	repeat(both, 5);
	child = fork();
	if (!child) {
		repeat(child_only, 7);
		repeat(both, 3);
		exit(0);
	}
	waitpid(child, &status, 0);
	repeat(both, 2);
	repeat(parent_only, 4);
	printf("%d\n", (int)child);
	return status;
}
