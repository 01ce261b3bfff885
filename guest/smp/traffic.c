/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Calls that a telephone exchange takes, one after the other: traffic CALLS COUNT.
 *
 * For each call a process begins. It reads the record of a subscriber in a file that all copies have, counts, an
 * instruction each, to a number from 0 to twice COUNT, writes the record back with one call more in it, says which
 * one that was, and ends. Who began it waits for that, and checks it. Copies have subscribers of their own, by the
 * CPU that they are bound to, and other numbers.
 */
#define _GNU_SOURCE /* sched_getcpu */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threads.h"

#define SUBSCRIBERS 256
#define MOST_CALLS 10000000L
#define MOST_COUNT 1000000000L

struct subscriber {
	uint64_t number;
	uint64_t calls;
	char other[48];
};

static void count_to(long left)
{
	/* Two instructions each. */
	left /= 2;
	if (left > 0)
		__asm__ volatile("1: dec %0; jnz 1b" : "+r"(left) : : "cc");
}

static int take(int file, long number, long count, int answer)
{
	struct subscriber it;
	off_t at = number * (off_t)sizeof(it);

	if (pread(file, &it, sizeof(it), at) != sizeof(it) || it.number != (uint64_t)number)
		return 1;
	count_to(count);
	it.calls++;
	if (pwrite(file, &it, sizeof(it), at) != sizeof(it))
		return 1;
	return write(answer, &it, sizeof(it)) != sizeof(it);
}

int main(int argc, char **argv)
{
	long calls = argument(argv, 1, 1, MOST_CALLS), count = argument(argv, 2, 0, MOST_COUNT);
	static uint64_t expected[SUBSCRIBERS];
	long first = sched_getcpu() * (long)SUBSCRIBERS;
	uint64_t state = 0x9e3779b97f4a7c15ULL * (uint64_t)(first + 1);
	int file = open("/subscribers", O_RDWR | O_CREAT, 0600), answer[2];

	(void)argc;
	if (file < 0 || pipe(answer) != 0)
		fail("traffic: there is no file of subscribers, or no pipe");
	for (long place = 0; place < SUBSCRIBERS; place++) {
		struct subscriber it = {.number = (uint64_t)(first + place)};

		if (pwrite(file, &it, sizeof(it), (first + place) * (off_t)sizeof(it)) != sizeof(it))
			fail("traffic: a subscriber cannot be written");
	}
	while (calls-- > 0) {
		long place = (long)(random_share(&state) * SUBSCRIBERS);
		long to = (long)(random_share(&state) * 2 * (double)count);
		struct pollfd event = {.fd = answer[0], .events = POLLIN};
		pid_t child = fork();
		struct subscriber it;
		int status;

		if (child < 0)
			fail("traffic: a process cannot begin");
		if (child == 0)
			_exit(take(file, first + place, to, answer[1]));
		if (poll(&event, 1, -1) != 1 || read(answer[0], &it, sizeof(it)) != sizeof(it))
			fail("traffic: a call does not say how it ended");
		if (it.number != (uint64_t)(first + place) || it.calls != ++expected[place])
			fail("traffic: a subscriber is wrong");
		if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
			fail("traffic: a call failed");
	}
	return 0;
}
