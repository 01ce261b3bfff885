/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Makes calls of all kinds on all CPUs, by chance, for so long, while the kernel's coarse locks change from one
 * kind to another; what each call did is checked.
 *
 * Usage: stress SECONDS SEED. Writes `trimtab: stress calls NUMBER`.
 */
#define _GNU_SOURCE /* sched_setaffinity */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MODE "/counters/giant/mode"
#define PAGE 4096
#define MOST 64

/* What all processes share. */
static struct {
	atomic_ulong calls, changes;
	atomic_int shared_name;
} *all;

static uint64_t state;
static int self, cpus;
static volatile sig_atomic_t signals;

#define NEED(what)                                                                              \
	do {                                                                                    \
		if (!(what)) {                                                                  \
			printf("stress: line %d is not as it should be: %s\n", __LINE__, strerror(errno)); \
			fflush(stdout);                                                         \
			_exit(1);                                                               \
		}                                                                               \
	} while (0)

/* xorshift64* of S. Vigna. */
static uint64_t chance(uint64_t below)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return state * 0x2545f4914f6cdd1dULL % below;
}

static void ended_with(pid_t child, int code)
{
	int status;

	NEED(waitpid(child, &status, 0) == child);
	NEED(WIFEXITED(status) && WEXITSTATUS(status) == code);
}

static void files(void)
{
	char name[32], other[32], text[32] = "";
	int file;

	snprintf(name, sizeof(name), "/stress.%d", self);
	snprintf(other, sizeof(other), "/stress.%d.b", self);
	file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	NEED(file >= 0 && write(file, name, sizeof(name)) == sizeof(name));
	NEED(rename(name, other) == 0 && access(name, F_OK) != 0);
	NEED(pread(file, text, sizeof(text), 0) == sizeof(text) && strcmp(text, name) == 0);
	NEED(close(file) == 0 && unlink(other) == 0);
}

/* All want the same name in the same folder: one at a time has it. */
static void same_name(void)
{
	int file = open("/stress.all", O_RDWR | O_CREAT | O_EXCL, 0600);

	if (file < 0) {
		NEED(errno == EEXIST);
		return;
	}
	NEED(atomic_fetch_add(&all->shared_name, 1) == 0);
	NEED(close(file) == 0);
	atomic_fetch_sub(&all->shared_name, 1);
	NEED(unlink("/stress.all") == 0);
}

static void child_ends(void)
{
	int code = (int)chance(100);
	pid_t child = fork();

	if (child == 0)
		_exit(code);
	NEED(child > 0);
	ended_with(child, code);
}

static void child_is_killed(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		for (;;)
			pause();
	NEED(child > 0 && kill(child, SIGKILL) == 0 && waitpid(child, &status, 0) == child);
	NEED(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static void child_is_another_program(void)
{
	static char *words[] = {"busybox", "true", NULL};
	pid_t child = vfork();

	if (child == 0) {
		execv("/bin/busybox", words);
		_exit(9);
	}
	NEED(child > 0);
	ended_with(child, 0);
}

static void pipes(void)
{
	int there[2], back[2];
	char byte;
	pid_t child;

	NEED(pipe(there) == 0 && pipe(back) == 0);
	child = fork();
	if (child == 0) {
		close(there[1]);
		while (read(there[0], &byte, 1) == 1)
			if (write(back[1], &byte, 1) != 1)
				_exit(1);
		_exit(0);
	}
	NEED(child > 0 && close(there[0]) == 0 && close(back[1]) == 0);
	for (int turn = 0; turn < 8; turn++) {
		char sent = (char)chance(256);

		NEED(write(there[1], &sent, 1) == 1 && read(back[0], &byte, 1) == 1 && byte == sent);
	}
	NEED(close(there[1]) == 0);
	ended_with(child, 0);
	NEED(close(back[0]) == 0);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long sum;

/* Memory that comes and goes while other threads run: their TLBs must forget it. */
static void *thread(void *unused)
{
	(void)unused;
	for (int turn = 0; turn < 20; turn++) {
		char *pages = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		NEED(pages != MAP_FAILED);
		for (int page = 0; page < 8; page++) {
			NEED(pages[page * PAGE] == 0);
			pages[page * PAGE] = 1;
		}
		NEED(madvise(pages, PAGE, MADV_DONTNEED) == 0 && pages[0] == 0);
		NEED(mprotect(pages, PAGE, PROT_READ) == 0 && munmap(pages, 8 * PAGE) == 0);
		for (int time = 0; time < 10; time++) {
			pthread_mutex_lock(&mutex);
			sum++;
			pthread_mutex_unlock(&mutex);
		}
	}
	return NULL;
}

static void threads(void)
{
	pthread_t others[3];

	sum = 0;
	for (int number = 0; number < 3; number++)
		NEED(pthread_create(&others[number], NULL, thread, NULL) == 0);
	thread(NULL);
	for (int number = 0; number < 3; number++)
		NEED(pthread_join(others[number], NULL) == 0);
	NEED(sum == 4 * 20 * 10);
}

static void sockets(void)
{
	int ends[2];
	char byte = 0, sent = (char)chance(256);

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	NEED(send(ends[0], &sent, 1, 0) == 1 && recv(ends[1], &byte, 1, 0) == 1 && byte == sent);
	NEED(close(ends[0]) == 0 && close(ends[1]) == 0);
}

/* To another CPU, where the stopper thread of this one sends it. */
static void moves(void)
{
	cpu_set_t set;
	int cpu = (int)chance((uint64_t)cpus);

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	NEED(sched_setaffinity(0, sizeof(set), &set) == 0 && sched_getcpu() == cpu);
	for (cpu = 0; cpu < cpus; cpu++)
		CPU_SET((size_t)cpu, &set);
	NEED(sched_setaffinity(0, sizeof(set), &set) == 0);
}

static void signalled(int number)
{
	(void)number;
	signals++;
}

static void signal_itself(void)
{
	sig_atomic_t before = signals;

	NEED(raise(SIGUSR1) == 0 && signals == before + 1);
}

static void sleeps(void)
{
	struct timespec time = {.tv_nsec = (long)chance(300000)};

	NEED(nanosleep(&time, NULL) == 0 && sched_yield() == 0);
}

static void events(void)
{
	struct pollfd event = {.fd = eventfd(1, 0), .events = POLLIN};
	uint64_t value = 0;

	NEED(event.fd >= 0 && poll(&event, 1, 0) == 1 && event.revents == POLLIN);
	NEED(read(event.fd, &value, sizeof(value)) == sizeof(value) && value == 1);
	NEED(close(event.fd) == 0);
}

static void work(time_t until)
{
	static void (*const kinds[])(void) = {
		files,	 same_name, child_ends, child_is_killed, child_is_another_program, pipes, threads,
		sockets, moves,	    signal_itself, sleeps,	 events,
	};
	struct sigaction action = {.sa_handler = signalled, .sa_flags = SA_RESTART};

	NEED(sigaction(SIGUSR1, &action, NULL) == 0);
	while (time(NULL) < until) {
		kinds[chance(sizeof(kinds) / sizeof(kinds[0]))]();
		atomic_fetch_add(&all->calls, 1);
	}
}

static void change(time_t until)
{
	static const char *const modes[] = {"giant", "giant-irq", "coarse", "fine"};

	while (time(NULL) < until) {
		const char *mode = modes[chance(sizeof(modes) / sizeof(modes[0]))];
		int file = open(MODE, O_WRONLY);
		ssize_t size = (ssize_t)strlen(mode);

		NEED(file >= 0 && write(file, mode, (size_t)size) == size && close(file) == 0);
		atomic_fetch_add(&all->changes, 1);
		usleep(20000);
	}
}

int main(int count, char **arguments)
{
	long seconds = count > 2 ? atol(arguments[1]) : 0, seed = count > 2 ? atol(arguments[2]) : 0;
	time_t until = time(NULL) + seconds;
	int workers, failed = 0, status;

	if (seconds < 1) {
		printf("stress: expected seconds and a seed\n");
		return 2;
	}
	cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	workers = cpus * 2 < MOST ? cpus * 2 : MOST;
	all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(all != MAP_FAILED);
	for (self = 0; self <= workers; self++) {
		pid_t child = fork();

		NEED(child >= 0);
		if (child > 0)
			continue;
		state = 0x9e3779b97f4a7c15ULL * (uint64_t)(seed * MOST * 2 + self + 1);
		if (self == workers)
			change(until);
		else
			work(until);
		_exit(0);
	}
	while (wait(&status) > 0)
		failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	printf("trimtab: stress calls %lu\ntrimtab: stress changes %lu\n", all->calls, all->changes);
	return failed;
}
