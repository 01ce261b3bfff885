// SPDX-License-Identifier: GPL-2.0-only
/* System calls that are answered where the thread is: the same answers, unless somebody watches. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "suite.h"

#define TRACING "/sys/kernel/tracing"

static void *asks(void *data)
{
	pid_t *ids = data;

	if (!elsewhere())
		return NULL;
	for (int i = 0; i < 100; i++) {
		ids[0] = (pid_t)syscall(SYS_getpid);
		ids[1] = (pid_t)syscall(SYS_gettid);
	}
	return NULL;
}

static int child_asks(void)
{
	pid_t ids[2] = { 0, 0 };
	int result;
	pid_t child = fork();

	if (child == 0) {
		asks(ids);
		_exit(ids[0] != ids[1] || ids[0] == getppid());
	}
	return child < 0 || waitpid(child, &result, 0) != child || result != 0;
}

/* A process, its threads and its children, each with its own numbers. */
int test_local_calls(void)
{
	long before = counted("answered");
	pid_t ids[2] = { 0, 0 }, own = getpid();
	pthread_t thread;

	if (!elsewhere())
		return 1;
	for (int i = 0; i < 1000; i++)
		if (syscall(SYS_getpid) != own || syscall(SYS_gettid) != own || sched_yield())
			return 1;
	if (pthread_create(&thread, NULL, asks, ids) || pthread_join(thread, NULL))
		return 1;
	if (ids[0] != own || ids[1] == own || ids[1] <= 0 || child_asks())
		return 1;
	return counted("answered") - before < 3000;
}

/* With strict seccomp, such a call kills. */
int test_local_seccomp(void)
{
	int result;
	pid_t child = fork();

	if (child == 0) {
		if (!elsewhere() || syscall(SYS_getpid) != getpid() ||
		    prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
			_exit(1);
		/* It may also be that such a thread stays on Linux's CPU, for it has no time-stamp counter. */
		spin(100000);
		syscall(SYS_getpid);
		/* exit_group would kill, too. */
		syscall(SYS_exit, 2);
	}
	return child < 0 || waitpid(child, &result, 0) != child || !WIFSIGNALED(result) ||
	       WTERMSIG(result) != SIGKILL;
}

static int put(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_TRUNC);
	int error = file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text);

	if (file >= 0)
		close(file);
	return error;
}

static int lines_with(const char *path, const char *word)
{
	char line[512];
	int count = 0;
	FILE *file = fopen(path, "r");

	while (file && fgets(line, sizeof(line), file))
		count += strstr(line, word) != NULL;
	if (file)
		fclose(file);
	return count;
}

/* Linux's own tracer sees each of them, from when it is switched on until it is switched off. */
int test_local_events(void)
{
	static const char event[] = TRACING "/events/syscalls/sys_enter_getpid/enable";

	mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (!elsewhere() || put(event, "1"))
		return 1;
	for (int i = 0; i < 50; i++) {
		spin(1000);
		syscall(SYS_getpid);
	}
	if (put(event, "0"))
		return 1;
	for (int i = 0; i < 50; i++)
		syscall(SYS_getpid);
	return lines_with(TRACING "/trace", "sys_getpid(") != 50;
}
