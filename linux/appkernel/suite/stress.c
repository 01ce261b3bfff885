// SPDX-License-Identifier: GPL-2.0-only
/* The same again and again: calls, pages.c, signals to threads elsewhere, and ends of processes at random points. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "suite.h"

/* Random numbers that are the same each time. */
static unsigned int next_random(unsigned int *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* How many operations are done, of how many. */
static long done, operations;

/* Says now and then how far all is. */
void operation_done(void)
{
	if (++done % (operations / 100 + 1))
		return;
	printf("trimtab: progress %ld %ld\n", done, operations);
	fflush(stdout);
}

static long wrong_calls(long count)
{
	pid_t parent = getppid();
	long wrong = 0;

	for (long i = 0; i < count; i++) {
		wrong += syscall(SYS_getppid) != parent;
		operation_done();
	}
	return wrong;
}

/* Counts of the child, in memory that both see. */
struct seen {
	volatile long asked, handled, wrong, ready;
};

static struct seen *seen;

static void on_queued(int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	/* Queued signals come in their order, each with its value. */
	if (info->si_value.sival_int != (int)(seen->handled & 0x7fffffff))
		seen->wrong++;
	seen->handled++;
}

static void spins_until(long count)
{
	struct sigaction action = { .sa_sigaction = on_queued, .sa_flags = SA_SIGINFO };
	unsigned long a = 1, b = 2;

	sigaction(SIGRTMIN, &action, NULL);
	seen->ready = 1;
	while (seen->handled < count) {
		/* What a signal must not change. */
		__asm__ volatile("mov %0, %%r12; mov %1, %%r13; mov $2000, %%ecx; 1: dec %%ecx; jnz 1b;"
				 "cmp %0, %%r12; jne 2f; cmp %1, %%r13; je 3f; 2: incq %2; 3:"
				 : "+r"(a), "+r"(b), "+m"(seen->wrong) : : "r12", "r13", "rcx", "cc");
		a += 3;
		b ^= a;
	}
}

/* Signals to a process that computes elsewhere, at most a few at a time. */
static long wrong_signals(long count)
{
	union sigval value;
	int result;
	pid_t child;

	seen = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (seen == MAP_FAILED)
		return 1;
	child = fork();
	if (child == 0) {
		spins_until(count);
		_exit(0);
	}
	while (!seen->ready)
		usleep(100);
	for (long i = 0; i < count; i++) {
		value.sival_int = (int)(i & 0x7fffffff);
		if (sigqueue(child, SIGRTMIN, value))
			seen->wrong++;
		while (i - seen->handled > 8)
			sched_yield();
		operation_done();
	}
	if (waitpid(child, &result, 0) != child || result)
		seen->wrong++;
	return seen->wrong + (seen->handled != count);
}

static void *computes(void *data)
{
	unsigned int state = (unsigned int)(size_t)data;

	for (;;) {
		spin(next_random(&state) % 5000);
		if (next_random(&state) % 4 == 0)
			syscall(SYS_getppid);
		if (next_random(&state) % 16 == 0) {
			volatile char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
						   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

			page[0] = 1;
			munmap((void *)page, PAGE);
		}
	}
	return NULL;
}

/* Processes with a second thread that end by themselves, by a signal or by a fault, at random points. */
static long wrong_ends(long count)
{
	unsigned int state = 1;
	long wrong = 0;

	for (long i = 0; i < count; i++) {
		unsigned int how = next_random(&state) % 3, wait = next_random(&state) % 20000;
		int result;
		pid_t child = fork();

		if (child == 0) {
			pthread_t thread;

			if (pthread_create(&thread, NULL, computes, (void *)(size_t)i))
				_exit(1);
			spin(wait);
			if (how == 0)
				_exit(42);
			if (how == 1)
				*(volatile int *)8 = 1;
			computes((void *)(size_t)(i + 1));
		}
		spin(wait);
		if (how == 2)
			kill(child, SIGKILL);
		if (child < 0 || waitpid(child, &result, 0) != child)
			wrong++;
		else if (how == 0)
			wrong += !WIFEXITED(result) || WEXITSTATUS(result) != 42;
		else
			wrong += !WIFSIGNALED(result) || WTERMSIG(result) != (how == 1 ? SIGSEGV : SIGKILL);
		operation_done();
	}
	return wrong;
}

/* Says how many of each there were, and how many errors; 0 if there was none. */
int stress(long calls, long pages, long signals, long ends)
{
	long errors;

	operations = calls + pages + signals + ends;
	errors = wrong_calls(calls);
	if (pages)
		errors += wrong_pages(pages);
	if (signals)
		errors += wrong_signals(signals);
	errors += wrong_ends(ends);
	printf("trimtab: appkernel stress-operations %ld\n", operations);
	printf("trimtab: appkernel stress-forwarded %lld\n", status("left"));
	printf("trimtab: appkernel stress-errors %ld\n", errors);
	return errors != 0;
}
