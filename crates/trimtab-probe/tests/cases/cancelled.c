/* Threads that are cancelled asynchronously, while they run functions and the code around these. */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>

static volatile int started;

__attribute__((noinline)) static long work(long n)
{
	__asm__ volatile("" ::: "memory");
	return n ^ 3;
}

__attribute__((noinline)) static long stacked(long a, long b, long c, long d, long e, long f, long g)
{
	__asm__ volatile("" ::: "memory");
	return work(a) + g;
}

static void *run(void *unused)
{
	long n = 0;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, 0);
	started = 1;
	for (;;)
		n += work(n) + stacked(n, n, n, n, n, n, n);
	return unused;
}

int main(void)
{
	int ended = 0;

	for (int i = 0; i < 300; i++) {
		pthread_t thread;
		void *result;
		volatile int waited;

		started = 0;
		pthread_create(&thread, 0, run, 0);
		while (!started)
			sched_yield();
		for (waited = 0; waited < i * 16; waited++)
			;
		pthread_cancel(thread);
		pthread_join(thread, &result);
		ended += result == PTHREAD_CANCELED;
	}
	printf("%d\n", ended);
	return 0;
}
