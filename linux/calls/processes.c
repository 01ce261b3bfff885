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

/* From the call to the `main` of the new program, which says when it is there. */
static enum result do_execve(void)
{
	static char *const arguments[] = {"suite", "--nothing", NULL};
	static char *const environment[] = {NULL};
	static volatile uint64_t began;
	uint64_t there = 0;
	int ends[2];
	cpu_set_t here;
	pid_t child;

	/* Each CPU has a counter of its own. */
	CPU_ZERO(&here);
	CPU_SET(sched_getcpu(), &here);
	NEED(pipe(ends) == 0 && dup2(ends[1], SAYS) == SAYS);
	child = vfork();
	if (child == 0) {
		sched_setaffinity(0, sizeof(here), &here);
		/* The parent's memory, too. */
		began = ticks();
		execve("/proc/self/exe", arguments, environment);
		_exit(6);
	}
	NEED(ended(child, NOTHING) == GOOD && read(ends[0], &there, sizeof(there)) == sizeof(there));
	NEED(there > began);
	spent = there - began;
	NEED(close(ends[0]) == 0 && close(ends[1]) == 0 && close(SAYS) == 0);
	return GOOD;
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
	/* The kernel's own structure. The signal is never sent, so that no way back from it is needed. */
	struct {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} now = {0}, wanted = {.handler = count};

	NEED(TIMED(syscall(SYS_rt_sigaction, SIGUSR2, &wanted, NULL, sizeof(wanted.mask))) == 0);
	wanted.handler = SIG_DFL;
	NEED(syscall(SYS_rt_sigaction, SIGUSR2, &wanted, &now, sizeof(wanted.mask)) == 0);
	NEED(now.handler == count);
	return GOOD;
}

static enum result do_rt_sigprocmask(void)
{
	uint64_t set = 1ULL << (SIGUSR2 - 1), now = 0;

	NEED(TIMED(syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, sizeof(set))) == 0);
	NEED(syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &set, &now, sizeof(set)) == 0 && (now & set));
	return GOOD;
}

/* With the handler, and the way back from it. */
static enum result do_kill(void)
{
	struct sigaction wanted = {.sa_handler = count};
	int before = signals;
	pid_t self = getpid();

	NEED(sigaction(SIGUSR1, &wanted, NULL) == 0);
	NEED(TIMED(syscall(SYS_kill, self, SIGUSR1)) == 0);
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
