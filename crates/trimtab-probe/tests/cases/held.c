/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Forks while another thread is just beginning: as if that held the lock of the run time. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of the run time. */
extern volatile int pool_lock;

__attribute__((noinline)) static long work(long n)
{
	return n ? work(n - 1) + 1 : 0;
}

static void *thread(void *argument)
{
	return (void *)work((long)argument);
}

int main(void)
{
	pthread_t one;
	int status;

	work(3);
	pool_lock = 1;
	if (!fork()) {
		signal(SIGALRM, SIG_DFL);
		alarm(20);
		pthread_create(&one, NULL, thread, (void *)5l);
		pthread_join(one, NULL);
		_exit(7);
	}
	pool_lock = 0;
	wait(&status);
	printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	return 0;
}
