/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that take a known number of page faults, and one that runs a known number of
 * instructions: called, calling themselves, left by longjmp, in threads and in other processes. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))

/* Pages that were never used. Mapping them takes no fault. */
KEEP void touch(long pages)
{
	long size = sysconf(_SC_PAGESIZE), i;
	char *at = mmap(NULL, pages * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(at, pages * size, MADV_NOHUGEPAGE);
	for (i = 0; i < pages; i++)
		((volatile char *)at)[i * size] = 1;
	munmap(at, pages * size);
}

KEEP int outer(void)
{
	touch(1000);
	touch(500);
	return 1;
}

/* Touches 100 pages in each of its calls, of which compilers cannot make a loop. */
static int (*volatile again)(int n);
KEEP int recursive(int n)
{
	touch(100);
	return n ? again(n - 1) + 1 : 0;
}

KEEP int deep(int n)
{
	volatile char room[200];

	room[n % 200] = 1;
	return n ? deep(n - 1) + room[n % 200] : 0;
}

static jmp_buf place;
KEEP void skipped(void)
{
	touch(300);
	longjmp(place, 1);
}
KEEP int catches(void)
{
	if (!setjmp(place))
		skipped();
	touch(200);
	return 1;
}

KEEP void *thread(void *argument)
{
	touch(700);
	return argument;
}

KEEP void in_child(void)
{
	touch(400);
}

/* Before and after: what came before the fork is the parent's. */
KEEP int forks(void)
{
	int status;

	touch(800);
	if (!fork()) {
		in_child();
		exit(5);
	}
	wait(&status);
	return WEXITSTATUS(status);
}

/* A child that fork's handlers do not see. */
KEEP void by_itself(void)
{
	touch(600);
}
KEEP int clones(void)
{
	int status;

	if (!syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0)) {
		by_itself();
		_exit(6);
	}
	wait(&status);
	return WEXITSTATUS(status);
}

KEEP void becomes(void)
{
	execl("/bin/true", "true", NULL);
	_exit(7);
}
KEEP int executes(void)
{
	int status;

	if (!vfork())
		becomes();
	wait(&status);
	return WEXITSTATUS(status);
}

/* Two instructions a round. */
KEEP void spin(long rounds)
{
#ifdef __x86_64__
	__asm__ volatile("1: dec %0\n\tjnz 1b" : "+r"(rounds) : : "cc");
#else
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
#endif
}
KEEP int spins(void)
{
	for (int i = 0; i < 100; i++)
		spin(1000);
	return 1;
}

int main(void)
{
	pthread_t threads[2];

	again = recursive;
	printf("%d %d %d %d\n", outer(), recursive(9), deep(20000), catches());
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, thread, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	fflush(stdout);
	printf("%d ", forks());
	fflush(stdout);
	printf("%d ", clones());
	printf("%d %d\n", executes(), spins());
	/* Not left. */
	exit(0);
}
