// SPDX-License-Identifier: MIT OR Apache-2.0
/* How programs with threads end: the argument says how. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile unsigned long counter;
static int tube[2];

static void *compute(void *argument)
{
	(void)argument;
	while (1)
		counter++;
	return NULL;
}

static void *wait(void *argument)
{
	char byte;

	(void)argument;
	return (void *)(long)read(tube[0], &byte, 1);
}

static void *end_all(void *argument)
{
	(void)argument;
	usleep(50000);
	puts("the thread ends the program");
	exit(7);
}

static volatile int *nowhere = (int *)8;

static void *write_null(void *argument)
{
	(void)argument;
	*nowhere = 1;
	return NULL;
}

static void *raise_term(void *argument)
{
	(void)argument;
	kill(getpid(), SIGTERM);
	return NULL;
}

static void clean(void *argument)
{
	printf("cleaned %d\n", *(int *)argument);
}

static void *be_cancelled(void *argument)
{
	int given = 11;

	(void)argument;
	pthread_cleanup_push(clean, &given);
	while (1)
		sleep(10);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *nothing(void *argument)
{
	return argument;
}

int main(int count, char **words)
{
	const char *how = count > 1 ? words[1] : "";
	pthread_t thread;
	void *result;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(tube))
		return 1;
	pthread_create(&thread, NULL, compute, NULL);
	pthread_create(&thread, NULL, wait, NULL);
	puts(how);
	if (strcmp(how, "return") == 0)
		return 3;
	if (strcmp(how, "exit") == 0) {
		pthread_create(&thread, NULL, end_all, NULL);
		pthread_join(thread, NULL);
	}
	if (strcmp(how, "fault") == 0) {
		pthread_create(&thread, NULL, write_null, NULL);
		pthread_join(thread, NULL);
	}
	if (strcmp(how, "signal") == 0) {
		pthread_create(&thread, NULL, raise_term, NULL);
		pthread_join(thread, NULL);
	}
	if (strcmp(how, "cancel") == 0) {
		pthread_create(&thread, NULL, be_cancelled, NULL);
		usleep(50000);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		printf("%d\n", result == PTHREAD_CANCELED);
		return 4;
	}
	if (strcmp(how, "many") == 0) {
		long sum = 0;

		for (long i = 0; i < 1000; i++) {
			if (pthread_create(&thread, NULL, nothing, (void *)i))
				return 5;
			pthread_join(thread, &result);
			sum += (long)result;
		}
		printf("%ld\n", sum);
		return 6;
	}
	return 2;
}
