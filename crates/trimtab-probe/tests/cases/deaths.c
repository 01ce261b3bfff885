/* Functions that are under way when the process ends: by what the argument says. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "trimtab_probe.h"

volatile uint64_t trimtab_probe_value __attribute__((weak));
static const char *how;
static volatile int running;

__attribute__((noinline)) static long work(long n)
{
	volatile long s = 0;
	for (long i = 0; i < n; i++) {
		s += i;
		/* A ++ that a thread is stopped in takes back what the others counted. */
		__atomic_fetch_add(&trimtab_probe_value, 1, __ATOMIC_RELAXED);
	}
	return s;
}

__attribute__((noinline)) static void vanish(char *const *arguments)
{
	if (!strcmp(how, "exec"))
		execv("/bin/true", arguments);
	if (!strcmp(how, "execl"))
		execl("/bin/true", "true", "x", (char *)NULL);
	if (!strcmp(how, "execlp"))
		execlp("true", "true", (char *)NULL);
	if (!strcmp(how, "no exec")) {
		execve("/nowhere/at/all", arguments, arguments);
		perror("execve");
	}
}

__attribute__((noinline)) static void finish(char *const *arguments)
{
	work(50000);
	if (!strcmp(how, "_exit"))
		_exit(7);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "fault"))
		*(volatile int *)8 = 1;
	if (!strcmp(how, "killed"))
		kill(getpid(), SIGTERM);
	if (!strcmp(how, "child")) {
		pid_t child = vfork();
		if (!child)
			_exit(3);
		int status;
		waitpid(child, &status, 0);
		printf("%d\n", WEXITSTATUS(status));
	}
	vanish(arguments);
	__asm__ volatile("");
}

__attribute__((noinline)) static void server(char *const *arguments)
{
	work(1000000);
	finish(arguments);
	__asm__ volatile("");
}

__attribute__((noinline)) static void waits(void)
{
	work(500000);
	running++;
	pause();
	puts("it does not go on");
}

__attribute__((noinline)) static void spins(void)
{
	work(500000);
	running++;
	for (;;)
		work(10);
}

static void *thread(void *which)
{
	if (which)
		waits();
	else
		spins();
	return NULL;
}

int main(int count, char **arguments)
{
	char *const environment[] = { "true", NULL };
	pthread_t one, two;

	how = count > 1 ? arguments[1] : getenv("HOW");
	if (!strcmp(how, "threads")) {
		pthread_create(&one, NULL, thread, NULL);
		while (running < 1)
			;
		pthread_create(&two, NULL, thread, &one);
		while (running < 2)
			usleep(100);
		usleep(1000);
	}
	server(environment);
	return 0;
}
