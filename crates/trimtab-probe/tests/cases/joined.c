/* A thread that waits while the process ends, and is joined after the run time has accounted for its calls. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static volatile int started, stopped;
static pthread_t thread;

__attribute__((noinline)) static void *waits(void *unused)
{
	started = 1;
	while (!stopped)
		usleep(20000);
	return unused;
}

/* Behind the run time's, which has the next priority. */
__attribute__((destructor(100))) static void join(void)
{
	stopped = 1;
	pthread_join(thread, NULL);
	puts("joined");
}

int main(void)
{
	pthread_create(&thread, NULL, waits, NULL);
	while (!started)
		usleep(100);
	return 0;
}
