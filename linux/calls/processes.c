// SPDX-License-Identifier: GPL-2.0-only
/* Calls about processes and signals. */
#include "suite.h"

#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

static volatile sig_atomic_t signals;
static char stack[4 * PAGE] __attribute__((aligned(16)));

/* Waits for a child that must end with a status. */
static enum result ended(pid_t child, int expected)
{
	int status = -1;

	NEED(child > 0 && waitpid(child, &status, 0) == child);
	NEED(WIFEXITED(status) && WEXITSTATUS(status) == expected);
	return GOOD;
}

static enum result do_fork(void)
{
	pid_t child = TIMED((pid_t)syscall(SYS_fork));

	if (child == 0)
		_exit(3);
	return ended(child, 3);
}

/* With all that the child does, as its parent waits for that. */
static enum result do_vfork(void)
{
	uint64_t began = ticks();
	pid_t child = vfork();

	if (child == 0)
		_exit(4);
	spent = ticks() - began;
	return ended(child, 4);
}

static int thread(void *word)
{
	*(volatile int *)word = 9;
	_exit(5);
}

static enum result do_clone(void)
{
	volatile int word = 0;
	pid_t child = TIMED(clone(thread, stack + sizeof(stack), CLONE_VM | CLONE_FS | CLONE_FILES | SIGCHLD,
				  (void *)&word));

	NEED(ended(child, 5) == GOOD && word == 9);
	return GOOD;
}

/* From vfork to the end of the new program, which does nothing. */
static enum result do_execve(void)
{
	static char *const arguments[] = {"suite", "--nothing", NULL};
	static char *const environment[] = {NULL};
	uint64_t began = ticks();
	pid_t child = vfork();
	enum result result;

	if (child == 0) {
		execve("/bin/suite", arguments, environment);
		_exit(6);
	}
	result = ended(child, NOTHING);
	spent = ticks() - began;
	return result;
}

/* With the end of the child. */
static enum result do_wait4(void)
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(8);
	NEED(TIMED((pid_t)syscall(SYS_wait4, child, &status, 0, NULL)) == child);
	NEED(WIFEXITED(status) && WEXITSTATUS(status) == 8);
	return GOOD;
}

static void count(int signal)
{
	(void)signal;
	signals++;
}

static enum result do_rt_sigaction(void)
{
	struct sigaction now, wanted = {.sa_handler = count};

	NEED(TIMED(sigaction(SIGUSR2, &wanted, NULL)) == 0);
	NEED(sigaction(SIGUSR2, NULL, &now) == 0 && now.sa_handler == count);
	wanted.sa_handler = SIG_DFL;
	NEED(sigaction(SIGUSR2, &wanted, NULL) == 0);
	return GOOD;
}

static enum result do_rt_sigprocmask(void)
{
	sigset_t set, now;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	NEED(TIMED(sigprocmask(SIG_BLOCK, &set, NULL)) == 0);
	NEED(sigprocmask(SIG_UNBLOCK, &set, &now) == 0 && sigismember(&now, SIGUSR2));
	return GOOD;
}

/* With the handler, and the way back from it. */
static enum result do_kill(void)
{
	struct sigaction wanted = {.sa_handler = count};
	int before = signals;

	NEED(sigaction(SIGUSR1, &wanted, NULL) == 0);
	NEED(TIMED(syscall(SYS_kill, getpid(), SIGUSR1)) == 0);
	NEED(signals == before + 1);
	return GOOD;
}

static enum result do_sched_yield(void)
{
	NEED(TIMED(syscall(SYS_sched_yield)) == 0);
	return GOOD;
}

const struct call process_calls[] = {
	{"fork", do_fork},
	{"vfork", do_vfork},
	{"clone", do_clone},
	{"execve", do_execve},
	{"wait4", do_wait4},
	{"rt_sigaction", do_rt_sigaction},
	{"rt_sigprocmask", do_rt_sigprocmask},
	{"kill", do_kill},
	{"sched_yield", do_sched_yield},
	{NULL, NULL},
};
