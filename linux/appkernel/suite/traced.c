// SPDX-License-Identifier: GPL-2.0-only
/* A tracer sees each system call of a thread, before and behind it. */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include "suite.h"

static int stopped_call(pid_t child, struct user_regs_struct *registers)
{
	int result;

	if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) || waitpid(child, &result, 0) != child)
		return 0;
	return WIFSTOPPED(result) && WSTOPSIG(result) == (SIGTRAP | 0x80) &&
	       !ptrace(PTRACE_GETREGS, child, NULL, registers);
}

/* Each call stops once before and once behind it, with that call's registers. */
static int trace(long number, int of_child)
{
	struct user_regs_struct before, behind;
	int result, calls = 0;
	pid_t child = fork();

	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		raise(SIGSTOP);
		for (int i = 0; i < 50; i++)
			syscall(number);
		_exit(0);
	}
	if (waitpid(child, &result, 0) != child ||
	    ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
		return 1;
	while (stopped_call(child, &before) && before.orig_rax != SYS_exit_group) {
		if ((long)before.rax != -ENOSYS || !stopped_call(child, &behind) ||
		    before.orig_rax != behind.orig_rax || before.rip != behind.rip)
			return 1;
		if ((long)behind.orig_rax == number)
			calls += (pid_t)behind.rax == (of_child ? child : getpid());
	}
	kill(child, SIGKILL);
	waitpid(child, &result, 0);
	return calls != 50;
}

int test_traced_calls(void)
{
	return trace(SYS_getppid, 0);
}

/* A call that could be answered elsewhere is not, for then the tracer would not see it. */
int test_local_ptrace(void)
{
	return trace(SYS_getpid, 1);
}
