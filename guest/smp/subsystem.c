/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Makes calls of one subsystem of the kernel, and checks what they did: subsystem NAME ROUNDS [FIRST].
 *
 * NAME is files, network, memory, ipc or processes; or mix: all of these in turn in each round, of which each copy
 * begins with another one, by the CPU that it is bound to; or with that of the number FIRST, from 0.
 */
#define _GNU_SOURCE /* sched_getcpu */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
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

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*round)(int cpu);
	} all[] = {
		{"files", files},     {"network", network}, {"memory", memory},
		{"ipc", ipc},         {"processes", processes},
	};
	const int count = (int)(sizeof(all) / sizeof(all[0]));
	long rounds = argc > 2 ? atol(argv[2]) : 0;
	int cpu = sched_getcpu(), chosen = 0, in_turn = 1;

	if (argc > 1 && strcmp(argv[1], "mix") == 0) {
		chosen = (argc > 3 ? atoi(argv[3]) : cpu) % count;
		in_turn = count;
	} else {
		while (chosen < count && (argc < 2 || strcmp(argv[1], all[chosen].name) != 0))
			chosen++;
	}
	if (chosen < 0 || chosen == count || rounds < 1) {
		printf("subsystem: expected files, network, memory, ipc, processes or mix, and a number\n");
		return 2;
	}
	while (rounds-- > 0)
		for (int turn = 0; turn < in_turn; turn++)
			all[(chosen + turn) % count].round(cpu);
	return 0;
}
