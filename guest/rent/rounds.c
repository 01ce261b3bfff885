/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Runs a command again and again, and says how long that took:
 *
 *     rounds [--rounds N] [--warm N] [--preallocate MIB] [--hog MIB] [--disk NAME] -- COMMAND ARGUMENT...
 *
 * The --warm rounds first do not count. Before the rounds that do, --preallocate has it take so much memory; with --hog
 * it takes so much step by step, before each of them. What is dirty in the end is not waited for. Before each round the
 * file system of the current folder discards its free blocks, of which a disk in memory had kept a copy.
 *
 *     trimtab: rounds NAME NUMBER       count, nanoseconds, and of single rounds p50, p99, mean, max
 *     trimtab: disk NAME NUMBER         read_sectors and written_sectors, of 512 bytes, during the rounds
 *     trimtab: cpu busy_ns NUMBER       how long the CPU was busy meanwhile, with anything
 *     trimtab: counters NAME NUMBER     of rental memory, by how much they grew
 *
 * It exits 1 if a command fails.
 */
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/wait.h>

#include "memory.h"
#include "rent.h"

#define MOST_ROUNDS 100000

static struct {
	const char *disk;
	long rounds, warm, preallocate, hog;
} the = {.disk = "nullb0", .rounds = 1};

static const struct option_value options[] = {
	{"disk", OPTION_TEXT, &the.disk, 0, 0},
	{"rounds", OPTION_NUMBER, &the.rounds, 1, MOST_ROUNDS},
	{"warm", OPTION_NUMBER, &the.warm, 0, MOST_ROUNDS},
	{"preallocate", OPTION_NUMBER, &the.preallocate, 0, 65536},
	{"hog", OPTION_NUMBER, &the.hog, 0, 65536},
	{0},
};

/* What was counted, of all rounds together. */
static struct {
	uint64_t ns, busy_ns;
	struct sectors disk;
} sum;

/* Other blocks would be written each time, until all of the disk is memory. File systems that cannot do it do not. */
static void discard_free_blocks(void)
{
	struct fstrim_range all = {.len = UINT64_MAX};
	int folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (folder < 0)
		return;
	ioctl(folder, FITRIM, &all);
	close(folder);
}

/* Runs the command to its end. */
static void run(char **command)
{
	int status;
	pid_t child = fork();

	if (child < 0)
		fail("rounds: a process cannot begin: %s", strerror(errno));
	if (child == 0) {
		execvp(command[0], command);
		_exit(127);
	}
	if (waitpid(child, &status, 0) != child)
		fail("rounds: %s was lost: %s", command[0], strerror(errno));
	if (WIFSIGNALED(status))
		fail("rounds: %s ended with signal %d", command[0], WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		fail("rounds: %s ended with status %d", command[0], WEXITSTATUS(status));
}

/* A round that counts; its nanoseconds. */
static uint64_t count(char **command)
{
	struct sectors from = sectors_of(the.disk), to;
	uint64_t busy = busy_ns(), ns = now_ns();

	run(command);
	ns = now_ns() - ns;
	sum.ns += ns;
	sum.busy_ns += busy_ns() - busy;
	to = sectors_of(the.disk);
	sum.disk.known = from.known && to.known;
	sum.disk.read += to.read - from.read;
	sum.disk.written += to.written - from.written;
	return ns;
}

int main(int argc, char **argv)
{
	static struct counters before, after;
	static uint64_t times[MOST_ROUNDS];
	unsigned char *hog;
	char **command;
	long held = 0;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	command = options_read(argv, options);
	if (!*command)
		usage(options);
	for (long round = 0; round < the.warm; round++) {
		discard_free_blocks();
		run(command);
	}
	memory_take(memory_room(the.preallocate + 1), 0, the.preallocate);
	hog = memory_room(the.hog + 1);

	counters_read(&before);
	for (long round = 0; round < the.rounds; round++) {
		discard_free_blocks();
		memory_grow(hog, &held, the.hog, round + 1, the.rounds);
		times[round] = count(command);
	}
	counters_read(&after);

	printf("trimtab: rounds count %ld\ntrimtab: rounds nanoseconds %llu\n", the.rounds, (unsigned long long)sum.ns);
	say_times("rounds", "", times, (size_t)the.rounds);
	if (sum.disk.known)
		printf("trimtab: disk read_sectors %llu\ntrimtab: disk written_sectors %llu\n", sum.disk.read,
		       sum.disk.written);
	printf("trimtab: cpu busy_ns %llu\n", (unsigned long long)sum.busy_ns);
	counters_say("counters", &before, &after);
	return 0;
}
