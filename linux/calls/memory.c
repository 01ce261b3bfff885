// SPDX-License-Identifier: GPL-2.0-only
/* Calls about memory, and about what a process is told. */
#include "suite.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#define PAGES 16L
#define SECOND 1000000000LL
/* So often is looked whether something has come. */
#define TRIES 1000000

/* Pages of its own, written to if that is asked for; NULL if there are none. */
static char *mapped(int touched)
{
	char *at = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	for (long page = 0; touched && page < PAGES; page++)
		at[page * PAGE] = 1;
	return at;
}

static enum result unmapped(char *at)
{
	NEED(munmap(at, PAGES * PAGE) == 0);
	return GOOD;
}

static enum result do_mmap(void)
{
	char *at = TIMED((char *)syscall(SYS_mmap, NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L));

	NEED(at != MAP_FAILED);
	at[PAGES * PAGE - 1] = 5;
	NEED(at[0] == 0 && at[PAGES * PAGE - 1] == 5);
	return unmapped(at);
}

static enum result do_munmap(void)
{
	unsigned char there[PAGES];
	char *at = mapped(1);

	NEED(at && TIMED(syscall(SYS_munmap, at, PAGES * PAGE)) == 0);
	NEED(mincore(at, PAGES * PAGE, there) == -1 && errno == ENOMEM);
	return GOOD;
}

static enum result do_mprotect(void)
{
	int file = open("/proc/self/cmdline", O_RDONLY);
	char *at = mapped(1);

	NEED(at && file >= 0 && TIMED(syscall(SYS_mprotect, at, PAGES * PAGE, PROT_READ)) == 0);
	NEED(read(file, at, 1) == -1 && errno == EFAULT);
	NEED(close(file) == 0);
	return unmapped(at);
}

static enum result do_mremap(void)
{
	char *at = mapped(1), *moved;

	NEED(at);
	moved = TIMED((char *)syscall(SYS_mremap, at, PAGES * PAGE, 2 * PAGES * PAGE, MREMAP_MAYMOVE));
	NEED(moved != MAP_FAILED && moved[0] == 1 && moved[2 * PAGES * PAGE - 1] == 0);
	NEED(munmap(moved, 2 * PAGES * PAGE) == 0);
	return GOOD;
}

static enum result do_madvise(void)
{
	char *at = mapped(1);

	NEED(at && TIMED(syscall(SYS_madvise, at, PAGES * PAGE, MADV_DONTNEED)) == 0);
	NEED(at[0] == 0 && at[(PAGES - 1) * PAGE] == 0);
	return unmapped(at);
}

static enum result do_brk(void)
{
	long now = syscall(SYS_brk, 0L);

	NEED(TIMED(syscall(SYS_brk, now + PAGES * PAGE)) == now + PAGES * PAGE);
	*(char *)(now + PAGES * PAGE - 1) = 1;
	NEED(syscall(SYS_brk, now) == now);
	return GOOD;
}

static uint32_t word = 3;

/* Sleeps until it is woken. */
static int sleeper(void *stack)
{
	(void)stack;
	syscall(SYS_exit, (int)syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 3, NULL, NULL, 0));
	return 1;
}

/* Wakes nobody. */
static enum result do_futex(void)
{
	static char stack[4 * PAGE] __attribute__((aligned(16)));
	int status = -1, tries = 0;
	pid_t child;

	NEED(TIMED(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0)) == 0);
	NEED(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 4, NULL, NULL, 0) == -1 && errno == EAGAIN);
	child = clone(sleeper, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	NEED(child > 0);
	/* It may not sleep yet. */
	while (syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0) != 1 && tries++ < TRIES)
		sched_yield();
	if (tries >= TRIES)
		kill(child, SIGKILL);
	NEED(waitpid(child, &status, 0) == child && status == 0);
	return GOOD;
}

/* The field of /proc/self/stat with this number, from 0; -1 if there is none. */
static long own(int field)
{
	char text[512], *at;
	int file = open("/proc/self/stat", O_RDONLY);
	ssize_t size = read(file, text, sizeof(text) - 1);

	close(file);
	if (size <= 0)
		return -1;
	text[size] = 0;
	for (at = text; field > 0 && at; field--) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return at ? strtol(at, NULL, 10) : -1;
}

static enum result do_getpid(void)
{
	NEED(TIMED(syscall(SYS_getpid)) == own(0));
	return GOOD;
}

static enum result do_getppid(void)
{
	NEED(TIMED(syscall(SYS_getppid)) == own(3));
	return GOOD;
}

static enum result do_getuid(void)
{
	struct stat now;

	NEED(stat("/proc/self", &now) == 0 && TIMED(syscall(SYS_getuid)) == now.st_uid);
	return GOOD;
}

static long long nanoseconds(const struct timespec *time)
{
	return time->tv_sec * SECOND + time->tv_nsec;
}

static enum result do_clock_gettime(void)
{
	struct timespec before = {-1, -1}, after = {-1, -1};
	int tries = 0;

	NEED(TIMED(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &before)) == 0);
	/* Some clocks go on at ticks only. */
	do {
		NEED(syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &after) == 0);
	} while (nanoseconds(&after) == nanoseconds(&before) && tries++ < TRIES);
	NEED(before.tv_sec >= 0 && before.tv_nsec >= 0 && before.tv_nsec < SECOND);
	NEED(nanoseconds(&after) > nanoseconds(&before) && nanoseconds(&after) < nanoseconds(&before) + SECOND);
	return GOOD;
}

static enum result do_gettimeofday(void)
{
	struct timeval now = {-1, -1};
	struct timespec after;
	long long passed;

	NEED(TIMED(syscall(SYS_gettimeofday, &now, NULL)) == 0);
	NEED(now.tv_sec > 0 && now.tv_usec >= 0 && now.tv_usec < 1000000);
	NEED(syscall(SYS_clock_gettime, CLOCK_REALTIME, &after) == 0);
	passed = nanoseconds(&after) - now.tv_sec * SECOND - now.tv_usec * 1000LL;
	NEED(passed >= 0 && passed < SECOND);
	return GOOD;
}

static enum result do_times(void)
{
	const long tick = SECOND / sysconf(_SC_CLK_TCK);
	struct tms now;
	struct timespec used;

	memset(&now, 0xff, sizeof(now));
	NEED(TIMED(syscall(SYS_times, &now)) != -1);
	NEED(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0);
	NEED(now.tms_utime >= 0 && now.tms_stime >= 0 && now.tms_cutime >= 0 && now.tms_cstime >= 0);
	/* Each of both is cut to whole ticks, and time went on. */
	NEED((now.tms_utime + now.tms_stime) * tick <= nanoseconds(&used) + tick);
	NEED((now.tms_utime + now.tms_stime + 3) * tick >= nanoseconds(&used));
	return GOOD;
}

static enum result do_getrusage(void)
{
	struct rusage now = {0};

	NEED(TIMED(syscall(SYS_getrusage, RUSAGE_SELF, &now)) == 0);
	NEED(now.ru_minflt > 0);
	return GOOD;
}

static enum result do_prlimit64(void)
{
	struct rlimit now = {0};

	NEED(TIMED(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &now)) == 0);
	NEED(now.rlim_cur >= 256);
	return GOOD;
}

static enum result do_uname(void)
{
	struct utsname now = {0};

	NEED(TIMED(syscall(SYS_uname, &now)) == 0);
	NEED(strcmp(now.sysname, "Linux") == 0);
	return GOOD;
}

static enum result do_sysinfo(void)
{
	struct sysinfo now = {0};

	NEED(TIMED(syscall(SYS_sysinfo, &now)) == 0);
	NEED(now.totalram > 0 && now.procs > 0);
	return GOOD;
}

static enum result do_getrandom(void)
{
	char bytes[64] = {0}, zeros[64] = {0};

	/* GRND_INSECURE: a guest that has just come up waits for no randomness. */
	NEED(TIMED(syscall(SYS_getrandom, bytes, sizeof(bytes), 4)) == sizeof(bytes));
	NEED(memcmp(bytes, zeros, sizeof(bytes)) != 0);
	return GOOD;
}

const struct call memory_calls[] = {
	{"mmap", do_mmap},
	{"munmap", do_munmap},
	{"mprotect", do_mprotect},
	{"mremap", do_mremap},
	{"madvise", do_madvise},
	{"brk", do_brk},
	{"futex", do_futex},
	{"getpid", do_getpid},
	{"getppid", do_getppid},
	{"getuid", do_getuid},
	{"clock_gettime", do_clock_gettime},
	{"gettimeofday", do_gettimeofday},
	{"times", do_times},
	{"getrusage", do_getrusage},
	{"prlimit64", do_prlimit64},
	{"uname", do_uname},
	{"sysinfo", do_sysinfo},
	{"getrandom", do_getrandom},
	{NULL, NULL},
};
