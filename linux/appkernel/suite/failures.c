// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each allocation of Linux's in turn fails: while the module is loaded, and while threads are attached, leave, fault
 * and fork. Either all of it works, or it says that there is no memory. For a kernel with fault injection
 * (fail-nth, which failures.sh sets up).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include "suite.h"

/* More allocations than any of this makes. */
#define MOST 3000

#define MODULE "/lib/modules/appkernel.ko"

/* What one try comes to, as the status of a process, too. */
enum outcome { WRONG = 1, NO_MEMORY, WORKED, NONE_FAILED };

static int open_nth(void)
{
	return open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
}

/* The allocation of that number from now on fails; 0: none does. */
static void set_nth(int file, int nth)
{
	char text[16];
	int length = snprintf(text, sizeof(text), "%d", nth);

	if (pwrite(file, text, length, 0) != length)
		_exit(WRONG);
}

/* Whether none failed, since set_nth(). */
static int none_failed(int file)
{
	char text[16] = "";

	return pread(file, text, sizeof(text) - 1, 0) > 0 && atoi(text) > 0;
}

static enum outcome load(int nth)
{
	int control = open_nth(), module = open(MODULE, O_RDONLY | O_CLOEXEC), none, error;

	set_nth(control, nth);
	error = syscall(SYS_finit_module, module, "", 0) ? errno : 0;
	none = none_failed(control);
	set_nth(control, 0);
	close(control);
	close(module);
	if (!error && syscall(SYS_delete_module, "appkernel", O_NONBLOCK))
		return WRONG;
	if (error && error != ENOMEM) {
		printf("# allocation %d failed: the module says %s\n", nth, strerror(error));
		return WRONG;
	}
	return error ? NO_MEMORY : none ? NONE_FAILED : WORKED;
}

static int calls_faults_and_forks(void)
{
	pid_t parent = getppid(), own = getpid(), child;
	int result, wrong = 0;
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < 20; i++) {
		spin(10000);
		wrong |= syscall(SYS_getppid) != parent;
	}
	if (page != MAP_FAILED) {
		wrong |= page[1];
		page[0] = 42;
		wrong |= page[0] != 42;
		munmap(page, PAGE);
	}
	child = fork();
	if (child == 0) {
		spin(10000);
		_exit(getppid() != own);
	}
	return wrong | (child > 0 && (waitpid(child, &result, 0) != child || result));
}

static enum outcome run(int nth)
{
	int control = open_nth(), none, wrong;

	alarm(60);
	set_nth(control, nth);
	/* It opens a file, too. */
	if (attach("attach"))
		return errno == ENOMEM || errno == ENFILE ? NO_MEMORY : WRONG;
	wrong = calls_faults_and_forks();
	none = none_failed(control);
	set_nth(control, 0);
	return wrong ? WRONG : none ? NONE_FAILED : WORKED;
}

static enum outcome run_attached(int nth)
{
	int result;
	pid_t child = fork();

	if (child == 0)
		_exit(run(nth));
	if (child < 0 || waitpid(child, &result, 0) != child || !WIFEXITED(result))
		return WRONG;
	return WEXITSTATUS(result);
}

/* Until none is left that could fail: how many of them did; -1 if something went wrong. */
static int all(const char *what, enum outcome (*try)(int))
{
	int failed = 0, refused = 0;

	for (int nth = 1; nth < MOST; nth++) {
		enum outcome outcome = try(nth);

		if (outcome == WRONG) {
			printf("# %s: wrong where allocation %d failed\n", what, nth);
			return -1;
		}
		if (outcome == NONE_FAILED) {
			printf("trimtab: appkernel failures-%s %d\n", what, failed);
			return refused ? failed : -1;
		}
		failed++;
		refused += outcome == NO_MEMORY;
	}
	return -1;
}

/* On a machine with the module. */
int failures(void)
{
	int threads, loads;

	printf("KTAP version 1\n1..2\n");
	threads = all("run", run_attached) < 1;
	printf("%sok 1 threads\n", threads ? "not " : "");
	loads = syscall(SYS_delete_module, "appkernel", O_NONBLOCK) || all("load", load) < 1;
	printf("%sok 2 loads\n", loads ? "not " : "");
	return threads || loads;
}
