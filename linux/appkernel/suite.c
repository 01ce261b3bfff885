// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a thread must find the same on a CPU that Linux does not know. Speaks KTAP: one line for each test.
 *
 * Usage: suite [NAME...]: all tests, or those named.
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
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096
#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/* The number of the CPU in the machine, whatever Linux calls it. */
static unsigned int apic_id(void)
{
	unsigned int a = 1, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return b >> 24;
}

static void spin(long rounds)
{
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(rounds));
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A number from debugfs; -1 if it is not there. */
static long long status(const char *name)
{
	char line[256];
	long long value = -1;
	FILE *file = fopen("/sys/kernel/debug/appkernel/status", "r");
	size_t length = strlen(name);

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && line[length] == ' ')
			value = atoll(line + length + 1);
	if (file)
		fclose(file);
	return value;
}

static int attach(void)
{
	int file = open("/dev/appkernel", O_WRONLY | O_CLOEXEC);
	int error = file < 0 || write(file, "attach", 6) != 6;

	if (file >= 0)
		close(file);
	return error;
}

/* Spins until the thread is on another CPU than Linux's; 0 if it never is. */
static int elsewhere(void)
{
	for (int i = 0; i < 1000; i++) {
		if (apic_id() != 0)
			return 1;
		spin(100000);
		sched_yield();
	}
	return 0;
}

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

struct share {
	pthread_mutex_t mutex;
	long count;
};

static void *adds(void *data)
{
	struct share *share = data;

	for (int i = 0; i < 2000; i++) {
		pthread_mutex_lock(&share->mutex);
		share->count++;
		pthread_mutex_unlock(&share->mutex);
		if (i % 64 == 0)
			spin(20000);
	}
	return NULL;
}

static int test_threads(void)
{
	static struct share share = { PTHREAD_MUTEX_INITIALIZER, 0 };
	pthread_t threads[4];

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		if (pthread_create(&threads[i], NULL, adds, &share))
			return 1;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	return share.count != 4 * 2000;
}

static int shared_word;

static void *adds_atomically(void *data)
{
	(void)data;
	for (int i = 0; i < 300000; i++)
		__atomic_add_fetch(&shared_word, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

/* Linux adds 1 to a word in a way that is atomic on its own CPU only, while threads elsewhere add, too. */
static int test_local_futex(void)
{
	static int nobody;
	pthread_t threads[3];
	int operation = FUTEX_OP(FUTEX_OP_ADD, 1, FUTEX_OP_CMP_EQ, 0);

	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		if (pthread_create(&threads[i], NULL, adds_atomically, NULL))
			return 1;
	for (int i = 0; i < 3000; i++)
		if (syscall(SYS_futex, &nobody, FUTEX_WAKE_OP, 0, 0, &shared_word, operation) < 0)
			return 1;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	return shared_word != 3 * 300000 + 3000;
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

static int test_exceptions(void)
{
	return dies_by(SIGSEGV, wild_write) || dies_by(SIGILL, undefined_instruction) ||
	       dies_by(SIGTRAP, breakpoint) || dies_by(SIGSEGV, execute_data) ||
	       dies_by(SIGFPE, divide);
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

/* Pages that one thread writes elsewhere while another gives them away. */
#define PAGES 64
static volatile unsigned int *pages;
static volatile int over;
static volatile long wrong_values;

static volatile unsigned int *page_of(int number)
{
	return pages + (size_t)number * PAGE / sizeof(*pages);
}

static void *writes(void *data)
{
	unsigned int round = 0;

	(void)data;
	while (!over) {
		round++;
		for (int i = 0; i < PAGES && !over; i++) {
			volatile unsigned int *page = page_of(i);

			*page = round;
			if (*page != round && *page != 0)
				wrong_values++;
		}
	}
	return NULL;
}

/*
 * Moves pages away while the other thread writes them, each to a place of its own. A write through a stale
 * translation lands in the frame that moved: it changes afterwards. No frame is freed meanwhile, so that such
 * writes hurt nobody.
 */
static long lost_pages(int rounds)
{
	size_t size = (size_t)rounds * PAGE;
	unsigned int *moved = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int *values = calloc((size_t)rounds, sizeof(*values));
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
	long lost = 0;
	pthread_t thread;

	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (moved == MAP_FAILED || pages == MAP_FAILED || !values ||
	    pthread_create(&thread, NULL, writes, NULL))
		return -1;
	for (int i = 0; i < rounds; i++) {
		char *from = (char *)pages + (size_t)(i % PAGES) * PAGE, *to = (char *)moved + (size_t)i * PAGE;

		usleep(300);
		if (mremap(from, PAGE, PAGE, flags, to) != to)
			return -1;
		values[i] = *(volatile unsigned int *)to;
	}
	usleep(20000);
	for (int i = 0; i < rounds; i++)
		lost += moved[(size_t)i * PAGE / sizeof(*moved)] != values[i];
	/* And each page must still be written where everybody sees it. */
	unsigned int before[PAGES];
	double end = now() + 5;
	int unseen;

	for (int i = 0; i < PAGES; i++)
		before[i] = *page_of(i);
	do {
		usleep(1000);
		unseen = 0;
		for (int i = 0; i < PAGES; i++)
			unseen += *page_of(i) == before[i];
	} while (unseen && now() < end);
	lost += unseen;
	over = 1;
	pthread_join(thread, NULL);
	return lost + wrong_values;
}

static int test_stale_translations(void)
{
	return lost_pages(500) != 0;
}

static const struct {
	const char *name;
	int (*run)(void);
} tests[] = {
	{ "runs_elsewhere", test_runs_elsewhere },
	{ "calls", test_calls },
	{ "faults", test_faults },
	{ "floats", test_floats },
	{ "signals", test_signals },
	{ "forks", test_forks },
	{ "exec", test_exec },
	{ "threads", test_threads },
	{ "local_futex", test_local_futex },
	{ "exceptions", test_exceptions },
	{ "kill", test_kill },
	{ "ptrace", test_ptrace },
	{ "tls", test_tls },
	{ "cpu_time", test_cpu_time },
	{ "stale_translations", test_stale_translations },
};

static int run_test(int (*run)(void))
{
	int result;
	pid_t child = fork();

	if (child == 0) {
		alarm(60);
		_exit(attach() || run());
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
	if (argc == 2 && !strcmp(argv[1], "--costs")) {
		costs("native");
		if (attach())
			return 1;
		costs("forwarded");
		return 0;
	}
	if (argc == 2 && !strcmp(argv[1], "--stale")) {
		if (attach())
			return 1;
		printf("trimtab: appkernel stale-pages %ld\n", lost_pages(200));
		return 0;
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
		int failed = run_test(tests[i].run);

		printf("%sok %zu %s\n", failed ? "not " : "", i + 1, tests[i].name);
	}
	printf("trimtab: appkernel left %lld\n", status("left"));
	printf("trimtab: appkernel flushes %lld\n", status("flushes"));
	return 0;
}
