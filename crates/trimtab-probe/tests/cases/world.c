/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Threads, signals, other stacks, fork. */
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define KEEP __attribute__((noinline))
/* Emulators take their time. */
#ifdef FEW
#define ROUNDS 20
#else
#define ROUNDS 200
#endif

KEEP long work(long a, long b, long c, long d, long e, long f, long g, long h)
{
	char room[32];

	memset(room, (int)a, sizeof(room));
	return a < 2 ? g + h + room[5] : work(a - 1, b, c, d, e, f, g, h) + work(a - 2, b, c, d, e, f, h, g);
}

KEEP long small(long n)
{
	return n < 2 ? n : small(n - 1) + small(n - 2);
}

/* Before the constructors of the C run time, one of which makes unwind tables known in some static programs. */
static long earliest_sum;
__attribute__((constructor(101))) static void earliest(void)
{
	earliest_sum = work(5, 1, 2, 3, 4, 5, 6, 7) + small(9);
}

static volatile long ticks;
static sigjmp_buf out;
static volatile int armed;

KEEP void handler(int number)
{
	(void)number;
	ticks += work(4, 0, 0, 0, 0, 0, 1, 2) > 0 && small(5) == 5;
}

KEEP void escape(int number)
{
	(void)number;
	if (armed) {
		armed = 0;
		siglongjmp(out, 1);
	}
}

KEEP void *thread(void *argument)
{
	long n = (long)argument;
	long result = work(12 + n % 3, 1, 2, 3, 4, 5, 6, n) + small(15);

	if (n & 1)
		pthread_exit((void *)result);
	return (void *)result;
}

KEEP void unlock(void *argument)
{
	++*(int *)argument;
}

static int cleaned;
KEEP void *cancelled(void *argument)
{
	(void)argument;
	pthread_cleanup_push(unlock, &cleaned);
	for (;;)
		usleep(1000);
	pthread_cleanup_pop(1);
	return NULL;
}

static ucontext_t home, one, two;
static long turns;

KEEP void coroutine(ucontext_t *self, ucontext_t *other, long a, long b, long c, long d, long e, long f)
{
	char room[64];

	for (int i = 0; i < 10 * ROUNDS; i++) {
		memset(room, i, sizeof(room));
		turns += work(3, a, b, c, d, e, f, room[1]) & 1;
		swapcontext(self, other);
	}
}
KEEP void first(void)
{
	coroutine(&one, &two, 1, 2, 3, 4, 5, 6);
}
KEEP void second(void)
{
	coroutine(&two, &one, 6, 5, 4, 3, 2, 1);
}

KEEP int depth(int n, char *room)
{
	void *frames[64];
	char mine[16];

	memset(mine, 1, sizeof(mine));
	if (n)
		return depth(n - 1, mine) + room[0] - 1;
	return backtrace(frames, 64);
}

int main(void)
{
	static char stack_one[65536], stack_two[65536], alternate[65536];
	char stack_here[65536];
	stack_t on_alternate = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_ONSTACK | SA_RESTART };
	struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	pthread_t threads[8], victim;
	long sum = 0;
	int status;
	char seed = 1;

	(void)stack_two;
	printf("%ld\n", earliest_sum);
	printf("%ld %ld\n", work(15, 1, 2, 3, 4, 5, 6, 7), small(18));
	/* At least as deep as the calls that are written here, and with an end. Without tables a plain program
	 * lists fewer than it has. */
#ifndef WITHOUT_TABLES
	printf("%d\n", depth(10, &seed) >= 12 && depth(10, &seed) < 64);
#endif

	sigaltstack(&on_alternate, NULL);
	sigaction(SIGPROF, &action, NULL);
	setitimer(ITIMER_PROF, &often, NULL);
	for (int i = 0; i < ROUNDS || ticks < 20; i++)
		sum += work(14, 1, 2, 3, 4, 5, 6, 7) + small(14) > 0;
	setitimer(ITIMER_PROF, &never, NULL);
	printf("%d\n", sum >= ROUNDS);

	action.sa_handler = escape;
	sigaction(SIGALRM, &action, NULL);
	for (volatile int i = 0; i < 5; i++)
		if (!sigsetjmp(out, 1)) {
			armed = 1;
			raise(SIGALRM);
			puts("never");
		}

	for (long i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, thread, (void *)i);
	for (int i = 0; i < 8; i++) {
		void *result;

		pthread_join(threads[i], &result);
		printf("%ld ", (long)result);
	}
	pthread_create(&victim, NULL, cancelled, NULL);
	usleep(10000);
	pthread_cancel(victim);
	pthread_join(victim, NULL);
	printf("%d\n", cleaned);
	for (int round = 0; round < ROUNDS; round++) {
		pthread_create(&victim, NULL, thread, (void *)(long)(round % 2));
		pthread_join(victim, NULL);
	}

	getcontext(&one);
	one.uc_stack.ss_sp = stack_one;
	one.uc_stack.ss_size = sizeof(stack_one);
	one.uc_link = &home;
	makecontext(&one, first, 0);
	getcontext(&two);
	/* A stack within the stack. */
	two.uc_stack.ss_sp = stack_here;
	two.uc_stack.ss_size = sizeof(stack_here);
	two.uc_link = &home;
	makecontext(&two, second, 0);
	swapcontext(&home, &one);
	printf("%ld\n", turns);

	fflush(stdout);
	if (!fork()) {
		printf("child %ld\n", work(10, 1, 2, 3, 4, 5, 6, 7));
		fflush(stdout);
		if (!fork()) {
			printf("grandchild %ld\n", small(10));
			exit(0);
		}
		wait(&status);
		_exit(3);
	}
	wait(&status);
	printf("parent %d %ld\n", WEXITSTATUS(status), work(10, 1, 2, 3, 4, 5, 6, 7));
	return 0;
}
