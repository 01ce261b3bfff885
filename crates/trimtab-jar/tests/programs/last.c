// SPDX-License-Identifier: MIT OR Apache-2.0
/* A program whose first thread ends before the others do. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static void *late(void *argument)
{
	usleep(100000);
	printf("the last thread %d\n", (int)(long)argument);
	fflush(stdout);
	return NULL;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, late, (void *)1);
	pthread_detach(thread);
	puts("the first thread");
	fflush(stdout);
	pthread_exit(NULL);
}
