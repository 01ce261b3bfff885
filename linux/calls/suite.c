// SPDX-License-Identifier: GPL-2.0-only
/*
 * What system calls cost in this guest: each is made ROUNDS times, what it did is checked each time, and the
 * median of its rounds is printed.
 *
 *     trimtab: call NAME COST      in ticks of the time-stamp counter
 *     trimtab: missing NAME ERRNO  this kernel does not have it
 *     trimtab: wrong NAME LINE     it did something else than it should, as this line of its file found
 *
 * Under QEMU's -icount with shift=0 a tick is an instruction. The counter is read and not the clock, which a
 * kernel scales by what it measured of the counter when it came up: one kernel's instructions would be longer
 * than another's. The median, because some rounds have a timer's interrupt in them.
 *
 * Usage: suite [ROUNDS]; `suite --nothing` says when it began and ends, for execve.
 */
#include "suite.h"

#include <sys/personality.h>

#define MOST_ROUNDS 101
#define MOST_CALLS 128

uint64_t spent;
static int failed_line, failed_errno;

enum result failed(int line)
{
	failed_line = line;
	failed_errno = errno;
	return errno == ENOSYS || errno == EAFNOSUPPORT ? MISSING : WRONG;
}

static int by_size(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

static enum result do_nothing(void)
{
	return TIMED(0) ? WRONG : GOOD;
}

/* The median of what a call takes. */
static enum result median(enum result (*make)(void), int rounds, uint64_t *cost)
{
	uint64_t found[MOST_ROUNDS];

	/* The first one finds caches of the kernel empty, and is not counted. */
	for (int round = -1; round < rounds; round++) {
		enum result result;

		errno = 0;
		result = make();
		if (result == WRONG && !failed_line)
			failed(__LINE__);
		if (result != GOOD)
			return result;
		if (round >= 0)
			found[round] = spent;
	}
	qsort(found, (size_t)rounds, sizeof(found[0]), by_size);
	*cost = found[rounds / 2];
	return GOOD;
}

int main(int count, char **arguments)
{
	static const struct call *const groups[] = {file_calls, memory_calls, process_calls, message_calls};
	static struct {
		const char *topic, *name;
		unsigned long long value;
	} said[MOST_CALLS];
	int rounds = count > 1 ? atoi(arguments[1]) : 21, all = 0;
	uint64_t nothing = 0;

	if (count > 1 && strcmp(arguments[1], "--nothing") == 0) {
		uint64_t now = ticks();

		return write(SAYS, &now, sizeof(now)) == sizeof(now) ? NOTHING : 1;
	}
	if (rounds < 1 || rounds > MOST_ROUNDS) {
		fprintf(stderr, "suite: expected 1 to %d rounds\n", MOST_ROUNDS);
		return 2;
	}
	/* Where the stack and the heap are decides how many page tables fork copies: the same in each run. */
	if (!(personality(0xffffffff) & ADDR_NO_RANDOMIZE)) {
		personality(ADDR_NO_RANDOMIZE);
		execv("/proc/self/exe", arguments);
		perror("suite: cannot start itself again without random addresses");
		return 2;
	}
	median(do_nothing, rounds, &nothing);
	for (size_t group = 0; group < sizeof(groups) / sizeof(groups[0]); group++) {
		for (const struct call *call = groups[group]; call->name && all < MOST_CALLS; call++, all++) {
			uint64_t cost = 0;

			failed_line = 0;
			said[all].name = call->name;
			switch (median(call->make, rounds, &cost)) {
			case GOOD:
				said[all].topic = "call";
				said[all].value = cost - nothing;
				break;
			case MISSING:
				said[all].topic = "missing";
				said[all].value = (unsigned long long)failed_errno;
				break;
			case WRONG:
				said[all].topic = "wrong";
				said[all].value = (unsigned long long)failed_line;
				break;
			}
		}
	}
	/* All at the end: what a console does later would be part of the next call. */
	for (int at = 0; at < all; at++)
		printf("trimtab: %s %s %llu\n", said[at].topic, said[at].name, said[at].value);
	return 0;
}
