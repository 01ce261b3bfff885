/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Counts in user mode and calls the kernel, in turn: dial COUNT ROUNDS [COPIES].
 *
 * A round counts to COUNT, an instruction each, and reads 16 KiB of a file of its own. How much of the time
 * that is in the kernel follows from COUNT. Alone, a copy counts to another number each time, from 0 to twice
 * COUNT, so that copies do not fall into step; the numbers depend on the CPU that it is bound to. With COPIES,
 * so many copies begin each round together, and all count to COUNT.
 */
#define _GNU_SOURCE /* sched_getcpu */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "threads.h"

#define SIZE 16384
#define MOST_COUNT 1000000000L

/* Shared by all copies, through a file. */
struct meeting {
	atomic_long there;
	atomic_long round;
};

static char buffer[SIZE];

static int file_of(const char *name, long size)
{
	int file = open(name, O_RDWR | O_CREAT, 0600);

	if (file < 0 || ftruncate(file, size) != 0)
		fail("dial: there is no file");
	return file;
}

static void meet(struct meeting *meeting, long copies)
{
	long round = atomic_load(&meeting->round);

	if (atomic_fetch_add(&meeting->there, 1) == copies - 1) {
		atomic_store(&meeting->there, 0);
		atomic_store(&meeting->round, round + 1);
	}
	while (atomic_load(&meeting->round) == round)
		__builtin_ia32_pause();
}

static void count_to(long left)
{
	/* Two instructions each. */
	left /= 2;
	if (left > 0)
		__asm__ volatile("1: dec %0; jnz 1b" : "+r"(left) : : "cc");
}

int main(int argc, char **argv)
{
	long count = argument(argv, 1, 0, MOST_COUNT), rounds = argument(argv, 2, 1, MOST_COUNT);
	long copies = argc > 3 ? argument(argv, 3, 1, MOST_THREADS) : 0;
	struct meeting *meeting = NULL;
	int cpu = sched_getcpu();
	uint64_t state = 0x9e3779b97f4a7c15ULL * (uint64_t)(cpu + 1);
	char name[64];
	int file;

	snprintf(name, sizeof(name), "/dial.%d", cpu);
	file = file_of(name, SIZE);
	if (write(file, buffer, SIZE) != SIZE)
		fail("dial: the file cannot be written");
	if (copies) {
		meeting = mmap(NULL, sizeof(*meeting), PROT_READ | PROT_WRITE, MAP_SHARED,
			       file_of("/dial.meeting", sizeof(*meeting)), 0);
		if (meeting == MAP_FAILED)
			fail("dial: there is no memory to share");
	}
	while (rounds-- > 0) {
		if (meeting) {
			meet(meeting, copies);
			count_to(count);
		} else {
			count_to((long)(random_share(&state) * 2 * (double)count));
		}
		if (pread(file, buffer, SIZE, 0) != SIZE)
			fail("dial: the file cannot be read");
	}
	return 0;
}
