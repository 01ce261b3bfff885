// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a thread must find the same on a CPU that Linux does not know. Speaks KTAP: one line for each test.
 *
 * Usage: suite [NAME...]: all tests, or those named.
 *        suite --costs [HOW]: what a call and a fault cost, here and there.
 *        suite --spin: computes until it is killed.
 *        suite --stress CALLS PAGES SIGNALS ENDS: so many of each, one after the other.
 *        suite --failures: each allocation fails.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "suite.h"

/* Each test runs in a process of its own, attached; gives 0 if all is well. */

static int test_runs_elsewhere(void)
{
	return !elsewhere();
}

static int test_calls(void)
{
	pid_t parent = getppid();

	for (int i = 0; i < 3000; i++)
		if (syscall(SYS_getppid) != parent)
			return 1;
	return 0;
}

static int test_faults(void)
{
	size_t size = 1024 * PAGE;
	char *area = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int wrong = area == MAP_FAILED;

	for (size_t at = 0; at < size && !wrong; at += PAGE)
		area[at] = (char)(at / PAGE);
	for (size_t at = 0; at < size && !wrong; at += PAGE)
		wrong = area[at] != (char)(at / PAGE) || area[at + 1];
	return wrong;
}

static double series(void)
{
	double sum = 0;

	for (int i = 1; i < 20000; i++)
		sum += 1.0 / ((double)i * i + 0.3) - 0.7 / (i + sum);
	return sum;
}

static int test_floats(void)
{
	double expected = series();

	if (!elsewhere())
		return 1;
	for (int i = 0; i < 20; i++) {
		if (series() != expected)
			return 1;
		syscall(SYS_getppid);
	}
	return 0;
}

static volatile sig_atomic_t signals;

static void on_signal(int number)
{
	(void)number;
	signals++;
}

static int test_signals(void)
{
	struct itimerval timer = { { 0, 2000 }, { 0, 2000 } };
	double end = now() + 20;

	signal(SIGALRM, on_signal);
	setitimer(ITIMER_REAL, &timer, NULL);
	while (signals < 50 && now() < end)
		spin(100000);
	memset(&timer, 0, sizeof(timer));
	setitimer(ITIMER_REAL, &timer, NULL);
	return signals < 50;
}

static int test_forks(void)
{
	for (int i = 0; i < 30; i++) {
		int result;
		pid_t child = fork();

		if (child == 0) {
			spin(10000);
			_exit(i);
		}
		if (child < 0 || waitpid(child, &result, 0) != child || WEXITSTATUS(result) != i)
			return 1;
	}
	return 0;
}

static int test_exec(void)
{
	int result;
	pid_t child = fork();

	if (child == 0) {
		execl("/proc/self/exe", "suite", "--exit", "42", NULL);
		_exit(1);
	}
	return child < 0 || waitpid(child, &result, 0) != child || WEXITSTATUS(result) != 42;
}

static int dies_by(int number, void (*act)(void))
{
	int result;
	pid_t child = fork();

	if (child == 0) {
		elsewhere();
		act();
		_exit(0);
	}
	return child < 0 || waitpid(child, &result, 0) != child || !WIFSIGNALED(result) ||
	       WTERMSIG(result) != number;
}

static void wild_write(void)
{
	*(volatile int *)8 = 1;
}

static void undefined_instruction(void)
{
	__asm__ volatile("ud2");
}

static void breakpoint(void)
{
	__asm__ volatile("int3");
}

static void execute_data(void)
{
	static char code[16] = { (char)0xc3 };

	((void (*)(void))code)();
}

static void divide(void)
{
	__asm__ volatile("xor %%edx, %%edx; mov $1, %%eax; xor %%ecx, %%ecx; div %%ecx"
			 : : : "eax", "ecx", "edx");
}

/* This is reported behind its instruction: it must not be taken for done. */
static void overflow(void)
{
	__asm__ volatile("int $4");
}

static volatile long first_step;

static void on_step(int number, siginfo_t *info, void *context)
{
	ucontext_t *user = context;

	(void)number;
	(void)info;
	if (!first_step)
		first_step = user->uc_mcontext.gregs[REG_RIP];
	user->uc_mcontext.gregs[REG_EFL] &= ~0x100;
}

/* The first single step ends behind the instruction that follows the one that begins it. */
static int test_single_step(void)
{
	struct sigaction action = { .sa_sigaction = on_step, .sa_flags = SA_SIGINFO };
	long place;

	if (sigaction(SIGTRAP, &action, NULL) || !elsewhere())
		return 1;
	__asm__ volatile("lea 1f(%%rip), %0; sub $128, %%rsp; pushf; orl $0x100, (%%rsp); popf; nop;"
			 "1: nop; add $128, %%rsp" : "=r"(place) : : "cc", "memory");
	return first_step != place;
}

static int test_exceptions(void)
{
	return dies_by(SIGSEGV, wild_write) || dies_by(SIGILL, undefined_instruction) ||
	       dies_by(SIGTRAP, breakpoint) || dies_by(SIGSEGV, execute_data) ||
	       dies_by(SIGFPE, divide) || dies_by(SIGSEGV, overflow) || test_single_step();
}

static int test_kill(void)
{
	int result;
	pid_t child = fork();

	if (child == 0)
		for (;;)
			spin(1000000);
	usleep(20000);
	kill(child, SIGSTOP);
	if (waitpid(child, &result, WUNTRACED) != child || !WIFSTOPPED(result))
		return 1;
	kill(child, SIGCONT);
	usleep(20000);
	kill(child, SIGKILL);
	return waitpid(child, &result, 0) != child || WTERMSIG(result) != SIGKILL;
}

static int test_ptrace(void)
{
	struct user_regs_struct registers;
	int result, wrong;
	pid_t child = fork();

	if (child == 0) {
		__asm__ volatile("mov $0x1234567, %%r15; 1: jmp 1b" : : : "r15");
	}
	usleep(50000);
	if (ptrace(PTRACE_ATTACH, child, NULL, NULL) || waitpid(child, &result, 0) != child)
		return 1;
	wrong = ptrace(PTRACE_GETREGS, child, NULL, &registers) || registers.r15 != 0x1234567;
	ptrace(PTRACE_DETACH, child, NULL, NULL);
	kill(child, SIGKILL);
	waitpid(child, &result, 0);
	return wrong;
}

static int test_tls(void)
{
	static __thread long mine = 5;

	if (!elsewhere())
		return 1;
	mine += 37;
	return mine != 42 || errno == 12345;
}

static int test_cpu_time(void)
{
	struct rusage usage;

	if (!elsewhere())
		return 1;
	for (int i = 0; i < 40; i++)
		spin(1000000);
	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_utime.tv_sec == 0 && usage.ru_utime.tv_usec == 0;
}

static const struct {
	const char *name;
	int (*run)(void);
	const char *how;
} tests[] = {
	{ "runs_elsewhere", test_runs_elsewhere, "attach" },
	{ "calls", test_calls, "attach" },
	{ "faults", test_faults, "attach" },
	{ "around", test_around, "attach" },
	{ "huge", test_huge, "attach" },
	{ "floats", test_floats, "attach" },
	{ "signals", test_signals, "attach" },
	{ "forks", test_forks, "attach" },
	{ "exec", test_exec, "attach" },
	{ "threads", test_threads, "attach" },
	{ "crowd", test_crowd, "attach" },
	{ "local_futex", test_local_futex, "attach" },
	{ "stranger_futex", test_stranger_futex, "later" },
	{ "membarrier", test_membarrier, "later" },
	{ "robust", test_robust, "attach" },
	{ "exceptions", test_exceptions, "attach" },
	{ "kill", test_kill, "attach" },
	{ "ptrace", test_ptrace, "attach" },
	{ "traced_calls", test_traced_calls, "attach" },
	{ "tls", test_tls, "attach" },
	{ "cpu_time", test_cpu_time, "attach" },
	{ "stale_translations", test_stale_translations, "attach" },
	{ "reclaim", test_reclaim, "attach" },
	{ "segments", test_segments, "attach" },
	{ "local_calls", test_local_calls, "attach local" },
	{ "local_seccomp", test_local_seccomp, "attach local" },
	{ "local_ptrace", test_local_ptrace, "attach local" },
	{ "local_events", test_local_events, "attach local" },
	{ "futexes", test_futexes, "attach local" },
	{ "futex_results", test_futex_results, "attach local" },
	{ "futex_moves", test_futex_moves, "attach local" },
	{ "futex_sleepers", test_futex_sleepers, "attach local" },
	{ "futex_restart", test_futex_restart, "attach local" },
	{ "futex_stranger", test_futex_stranger, "later" },
	/* With the thesis's proxy, what it can do. */
	{ "proxy_runs_elsewhere", test_runs_elsewhere, "proxy" },
	{ "proxy_calls", test_calls, "proxy" },
	{ "proxy_faults", test_faults, "proxy" },
	{ "proxy_floats", test_floats, "proxy" },
	{ "proxy_forks", test_forks, "proxy" },
	{ "proxy_exec", test_exec, "proxy" },
	{ "proxy_tls", test_tls, "proxy" },
};

static int run_test(int (*run)(void), const char *how)
{
	int result;
	pid_t child = fork();

	if (child == 0) {
		alarm(60);
		_exit(attach(how) || run());
	}
	return child < 0 || waitpid(child, &result, 0) != child || result != 0;
}

static double calls_take(int count)
{
	double start = now();

	for (int i = 0; i < count; i++)
		syscall(SYS_getppid);
	return (now() - start) * 1e9 / count;
}

static double faults_take(int count)
{
	char *area = mmap(NULL, (size_t)count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double start = now(), end;

	for (int i = 0; i < count; i++)
		area[(size_t)i * PAGE] = 1;
	end = now();
	munmap(area, (size_t)count * PAGE);
	return (end - start) * 1e9 / count;
}

/* What a call and a fault take, in nanoseconds: instructions, where the guest counts these. */
static void costs(const char *where)
{
	printf("trimtab: appkernel %s-call %.0f\n", where, calls_take(2000));
	printf("trimtab: appkernel %s-fault %.0f\n", where, faults_take(1000));
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc == 3 && !strcmp(argv[1], "--exit"))
		return atoi(argv[2]);
	if ((argc == 2 || argc == 3) && !strcmp(argv[1], "--costs")) {
		/* Page by page, also where Linux has huge ones. */
		if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
			return 1;
		costs("native");
		if (attach(argc == 3 ? argv[2] : "attach"))
			return 1;
		costs("forwarded");
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--stale")) {
		if (attach("attach"))
			return 1;
		printf("trimtab: appkernel stale-pages %ld\n", lost_pages(200));
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--spin")) {
		if (attach("attach"))
			return 1;
		for (;;)
			spin(1000000);
	}
	if (argc == 2 && !strcmp(argv[1], "--failures"))
		return failures();
	if (argc == 6 && !strcmp(argv[1], "--stress")) {
		if (attach("attach"))
			return 1;
		return stress(atol(argv[2]), atol(argv[3]), atol(argv[4]), atol(argv[5]));
	}
	printf("KTAP version 1\n1..%zu\n", ARRAY_SIZE(tests));
	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		int wanted = argc < 2;

		for (int j = 1; j < argc; j++)
			wanted |= !strcmp(argv[j], tests[i].name);
		if (!wanted) {
			printf("ok %zu %s # SKIP\n", i + 1, tests[i].name);
			continue;
		}
		int failed = run_test(tests[i].run, tests[i].how);

		printf("%sok %zu %s\n", failed ? "not " : "", i + 1, tests[i].name);
	}
	printf("trimtab: appkernel left %lld\n", status("left"));
	printf("trimtab: appkernel flushes %lld\n", status("flushes"));
	return 0;
}
