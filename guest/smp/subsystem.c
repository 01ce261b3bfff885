/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Makes calls of one subsystem of the kernel, and checks what they did: subsystem NAME ROUNDS.
 *
 * NAME is files, network, memory, ipc or processes; or calls: the shortest ones; or mix: as many of each subsystem as
 * it has rounds, in an order that depends on the CPU that a copy is bound to.
 */
#define _GNU_SOURCE /* sched_getcpu */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define PAGES 8

#define NEED(what)                                                                     \
	do {                                                                           \
		if (!(what)) {                                                         \
			printf("subsystem: line %d is not as it should be\n", __LINE__); \
			exit(1);                                                       \
		}                                                                      \
	} while (0)

/* Creates a file, writes it, reads it and deletes it. */
static void files(int cpu)
{
	char name[32], text[64] = "";
	struct stat status;
	int file;

	snprintf(name, sizeof(name), "/file.%d", cpu);
	file = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	NEED(file >= 0);
	NEED(write(file, name, sizeof(name)) == sizeof(name));
	NEED(fstat(file, &status) == 0 && status.st_size == sizeof(name));
	NEED(pread(file, text, sizeof(text), 0) == sizeof(name) && strcmp(text, name) == 0);
	NEED(close(file) == 0 && unlink(name) == 0);
}

/* Sends a message to itself. */
static void network(int cpu)
{
	int ends[2];
	char byte = 0;

	NEED(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
	for (int time = 0; time < 4; time++) {
		NEED(send(ends[0], &cpu, 1, 0) == 1);
		NEED(recv(ends[1], &byte, 1, 0) == 1 && byte == (char)cpu);
	}
	NEED(close(ends[0]) == 0 && close(ends[1]) == 0);
}

/* Maps memory, writes to each page and unmaps it. */
static void memory(int cpu)
{
	char *pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(pages != MAP_FAILED);
	for (int page = 0; page < PAGES; page++) {
		NEED(pages[page * PAGE] == 0);
		pages[page * PAGE] = (char)cpu;
	}
	NEED(mprotect(pages, PAGE, PROT_READ) == 0);
	NEED(munmap(pages, PAGES * PAGE) == 0);
}

/* Asks which events have come, and wakes nobody. */
static void ipc(int cpu)
{
	static int word;
	static struct pollfd event = {.fd = -1, .events = POLLIN};

	if (event.fd < 0)
		event.fd = eventfd(1, 0);
	NEED(event.fd >= 0);
	for (int time = 0; time < 8; time++) {
		NEED(poll(&event, 1, 0) == 1 && event.revents == POLLIN);
		NEED(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, cpu) == 0);
	}
}

/* Begins a process and waits for its end. */
static void processes(int cpu)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(cpu);
	NEED(child > 0 && waitpid(child, &status, 0) == child);
	NEED(WIFEXITED(status) && WEXITSTATUS(status) == cpu);
}

/* Asks who began it. */
static void calls(int cpu)
{
	static pid_t parent;

	(void)cpu;
	if (!parent)
		parent = getppid();
	for (int time = 0; time < 8; time++)
		NEED(getppid() == parent);
}

static const struct kind {
	const char *name;
	void (*round)(int cpu);
} kinds[] = {
	{"files", files}, {"network", network},     {"memory", memory},
	{"ipc", ipc},     {"processes", processes}, {"calls", calls},
};

/* Those that are in a mix come first. */
#define MIXED 5

/* Copies that made their calls in one order would stay beside each other for the whole of a subsystem. */
static void mix(int cpu, long rounds)
{
	uint64_t state = 0x9e3779b97f4a7c15ULL * (uint64_t)(cpu + 1);
	long left[MIXED];

	for (int kind = 0; kind < MIXED; kind++)
		left[kind] = rounds;
	for (long all = MIXED * rounds; all > 0; all--) {
		long drawn;
		int kind = 0;

		/* xorshift64 of G. Marsaglia. */
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		drawn = (long)(state % (uint64_t)all);
		while (drawn >= left[kind])
			drawn -= left[kind++];
		left[kind]--;
		kinds[kind].round(cpu);
	}
}

int main(int argc, char **argv)
{
	const int count = (int)(sizeof(kinds) / sizeof(kinds[0]));
	const char *name = argc > 1 ? argv[1] : "";
	long rounds = argc > 2 ? atol(argv[2]) : 0;
	int cpu = sched_getcpu(), chosen = 0, is_mix = strcmp(name, "mix") == 0;

	while (!is_mix && chosen < count && strcmp(name, kinds[chosen].name) != 0)
		chosen++;
	if (chosen == count || rounds < 1) {
		printf("subsystem: expected files, network, memory, ipc, processes, calls or mix, and a number\n");
		return 2;
	}
	if (is_mix)
		mix(cpu, rounds);
	while (!is_mix && rounds-- > 0)
		kinds[chosen].round(cpu);
	return 0;
}
