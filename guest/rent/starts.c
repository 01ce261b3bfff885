/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Starts programs one after the other in a random order, as somebody does who uses a device, and says how long each
 * took until it wrote something:
 *
 *     starts --commands FILE [--starts N] [--seed N] [--think-us FROM-TO] [--run-us FROM-TO] [--limit-ms N]
 *            [--disk NAME]
 *
 * FILE has a line for each program: a name, and the command with its arguments, with blanks between them, or in '' or
 * "" if they have blanks; lines that begin with # are comments. A start is from before the program's process begins until the first byte of what it
 * writes (or until it ends, if it writes nothing). A program that still runs then may go on for a random time, and is
 * ended if it has not ended by then. Before each start there is a pause of a random time. The order is a random permutation of all programs,
 * then another one, until there were --starts; it is the same for the same --seed.
 *
 *     trimtab: start NUMBER NAME NANOSECONDS READ WRITTEN
 *                                                   one line each; sectors of 512 bytes that the disk read and wrote
 *     trimtab: starts failure NAME WHY              it ended with an error, or wrote nothing for --limit-ms
 *     trimtab: starts NAME NUMBER                   count, failures, p50, p99, mean, max, read_sectors,
 *                                                   written_sectors
 *     trimtab: cpu busy_ns NUMBER                   how long the CPU was busy meanwhile, with anything
 *     trimtab: counters NAME NUMBER                 of rental memory, by how much they grew
 *
 * It exits 1 if there was a failure.
 */
#define _GNU_SOURCE /* pipe2 */
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "rent.h"

#define MOST_PROGRAMS 256
#define MOST_WORDS 64
#define MOST_STARTS 100000

static struct {
	const char *commands, *disk;
	long starts, seed, limit_ms;
	long think_us[2], run_us[2];
} the = {
	.disk = "nullb0", .starts = 100, .seed = 1, .limit_ms = 60000, .think_us = {100000, 1000000},
	.run_us = {1000000, 1000000},
};

static const struct option_value options[] = {
	{"commands", OPTION_TEXT, &the.commands, 0, 0},
	{"disk", OPTION_TEXT, &the.disk, 0, 0},
	{"starts", OPTION_NUMBER, &the.starts, 1, MOST_STARTS},
	{"seed", OPTION_NUMBER, &the.seed, 0, 1000000000},
	{"think-us", OPTION_RANGE, &the.think_us, 0, 1000000000},
	{"run-us", OPTION_RANGE, &the.run_us, 0, 1000000000},
	{"limit-ms", OPTION_NUMBER, &the.limit_ms, 1, 10000000},
	{0},
};

/* A name, and what is executed. */
static struct program {
	char *words[MOST_WORDS + 2];
} programs[MOST_PROGRAMS];

static size_t program_count;

/* The next word of a line, which goes on behind it; NULL at its end. A quotation mark ends with the next of its kind. */
static char *next_word(char **line)
{
	char *from = *line + strspn(*line, " \t\n"), *to = from, *word = from, quote = 0;

	if (!*from)
		return NULL;
	for (; *from && (quote || !strchr(" \t\n", *from)); from++) {
		if (quote ? *from == quote : *from == '\'' || *from == '"')
			quote = quote ? 0 : *from;
		else
			*to++ = *from;
	}
	if (quote)
		fail("starts: %s has a quotation mark without an end", the.commands);
	*line = from + (*from != '\0');
	*to = '\0';
	return strdup(word);
}

static void read_programs(void)
{
	FILE *file = fopen(the.commands, "r");
	char line[2048];

	if (!file)
		fail("starts: %s cannot be read: %s", the.commands, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		struct program *program = &programs[program_count];
		char *rest = line, *word;
		int words = 0;

		if (line[0] == '#')
			continue;
		while ((word = next_word(&rest))) {
			if (words > MOST_WORDS || program_count == MOST_PROGRAMS)
				fail("starts: %s has too many programs, or one too many arguments", the.commands);
			program->words[words++] = word;
		}
		if (words == 1)
			fail("starts: %s has no command for %s", the.commands, program->words[0]);
		program_count += words > 0;
	}
	fclose(file);
	if (program_count == 0)
		fail("starts: %s has no program", the.commands);
}

static pid_t begin(char **words, int *output)
{
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) != 0)
		fail("starts: there is no pipe: %s", strerror(errno));
	child = fork();
	if (child < 0)
		fail("starts: a process cannot begin: %s", strerror(errno));
	if (child == 0) {
		int nothing = open("/dev/null", O_RDONLY);

		setpgid(0, 0);
		dup2(nothing, STDIN_FILENO);
		dup2(ends[1], STDOUT_FILENO);
		dup2(ends[1], STDERR_FILENO);
		execvp(words[0], words);
		_exit(127);
	}
	setpgid(child, child);
	close(ends[1]);
	*output = ends[0];
	return child;
}

/* The first line that a program wrote, for when it fails. */
static char first_line[200];

static void keep_first_line(const char *bytes, ssize_t count)
{
	size_t length = count > 0 ? strnlen(bytes, (size_t)count) : 0;

	snprintf(first_line, sizeof(first_line), "%.*s", (int)length, bytes);
	first_line[strcspn(first_line, "\r\n")] = '\0';
}

/* Waits until there is output, or its end, but not longer than so; the bytes that were there, or -1. */
static ssize_t await(int output, long milliseconds)
{
	struct pollfd event = {.fd = output, .events = POLLIN};
	static char bytes[4096];
	ssize_t got;
	int ready;

	do {
		ready = poll(&event, 1, (int)milliseconds);
	} while (ready < 0 && errno == EINTR);
	if (ready != 1)
		return -1;
	got = read(output, bytes, sizeof(bytes));
	if (!first_line[0])
		keep_first_line(bytes, got);
	return got;
}

/* Lets a program go on and reads what it writes, so that it does not wait; returns whether it has come to its end. */
static bool let_run(int output, long run_us)
{
	uint64_t end = now_ns() + (uint64_t)run_us * 1000, now;
	ssize_t got = 1;

	while (got > 0 && (now = now_ns()) < end)
		got = await(output, (long)((end - now) / 1000000) + 1);
	return got == 0;
}

/* Starts a program; its nanoseconds, or 0 if it failed. */
static uint64_t start(const struct program *program, long run_us)
{
	const char *name = program->words[0];
	uint64_t before = now_ns(), ns;
	int output, status;
	pid_t child = begin((char **)program->words + 1, &output);
	ssize_t got;
	bool killed;

	first_line[0] = '\0';
	got = await(output, the.limit_ms);
	ns = now_ns() - before;
	killed = got < 0 || (got > 0 && !let_run(output, run_us));
	if (killed)
		kill(-child, SIGKILL);
	if (waitpid(child, &status, 0) != child)
		fail("starts: %s was lost: %s", name, strerror(errno));
	/* Whatever it left behind. */
	kill(-child, SIGKILL);
	close(output);
	if (got < 0) {
		printf("trimtab: starts failure %s wrote nothing in %ld ms\n", name, the.limit_ms);
		return 0;
	}
	if (!killed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) {
		printf("trimtab: starts failure %s ended with %s %d: %s\n", name,
		       WIFEXITED(status) ? "status" : "signal",
		       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status), first_line);
		return 0;
	}
	return ns ? ns : 1;
}

/* A random permutation: Fisher and Yates. */
static void shuffle(size_t *order, uint64_t *random)
{
	for (size_t at = 0; at < program_count; at++)
		order[at] = at;
	for (size_t left = program_count; left > 1; left--) {
		size_t other = random_below(random, left), was = order[left - 1];

		order[left - 1] = order[other];
		order[other] = was;
	}
}

int main(int argc, char **argv)
{
	static struct counters before, after;
	static uint64_t times[MOST_STARTS];
	static size_t order[MOST_PROGRAMS];
	unsigned long long read = 0, written = 0;
	size_t count = 0;
	uint64_t random, busy;
	long failures = 0;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (*options_read(argv, options) || !the.commands)
		usage(options);
	read_programs();
	random = random_seeded((uint64_t)the.seed);
	counters_read(&before);
	busy = busy_ns();
	for (long number = 0; number < the.starts; number++) {
		size_t turn = (size_t)number % program_count;
		const struct program *program;
		struct sectors from, to;
		uint64_t ns;

		if (turn == 0)
			shuffle(order, &random);
		program = &programs[order[turn]];
		sleep_us(random_between(&random, the.think_us));
		from = sectors_of(the.disk);
		ns = start(program, random_between(&random, the.run_us));
		to = sectors_of(the.disk);
		failures += ns == 0;
		if (ns == 0)
			continue;
		times[count++] = ns;
		read += to.read - from.read;
		written += to.written - from.written;
		printf("trimtab: start %ld %s %llu %llu %llu\n", number, program->words[0], (unsigned long long)ns,
		       to.read - from.read, to.written - from.written);
	}
	busy = busy_ns() - busy;
	counters_read(&after);
	printf("trimtab: cpu busy_ns %llu\n", (unsigned long long)busy);
	printf("trimtab: starts count %zu\ntrimtab: starts failures %ld\n", count, failures);
	say_times("starts", "", times, count);
	printf("trimtab: starts read_sectors %llu\ntrimtab: starts written_sectors %llu\n", read, written);
	counters_say("counters", &before, &after);
	return failures != 0;
}
