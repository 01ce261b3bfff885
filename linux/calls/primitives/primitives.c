// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a switch between processes, a wake-up, a page fault and a lock cost in this guest. Each is done ROUNDS
 * times, what it did is checked each time, and the median is printed, as the suite of calls prints it:
 *
 *     trimtab: call NAME COST    in ticks of the time-stamp counter
 *     trimtab: wrong NAME LINE   it did something else than it should, as this line found
 *
 * All of it is on the first CPU: what another would do at the same time is not part of it.
 *
 * Usage: primitives [ROUNDS]
 */
#include "suite.h"

#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#define MOST_ROUNDS 101

uint64_t spent;
static int failed_line;

/* What the child does. */
static volatile unsigned long *turns;
static int to_child[2], from_child[2];
/* Pages that nothing has touched. */
static volatile char *fresh, *fresh_end;

enum result failed(int line)
{
	failed_line = line;
	return WRONG;
}

/* To the child and back: two switches, each in a call of sched_yield. */
static enum result two_switches(void)
{
	unsigned long before = *turns;

	NEED(TIMED(sched_yield()) == 0);
	NEED(*turns == before + 1);
	spent /= 2;
	return GOOD;
}

/* A byte to the child, which waits for it, and back: two switches, two wake-ups, and four calls. */
static enum result round_trip(void)
{
	uint64_t began = ticks();
	char byte = 'a';

	NEED(write(to_child[1], &byte, 1) == 1 && read(from_child[0], &byte, 1) == 1);
	spent = ticks() - began;
	NEED(byte == 'b');
	return GOOD;
}

/* The first write to a page of zeros. */
static enum result fault(void)
{
	volatile char *page = fresh;

	NEED(page < fresh_end);
	fresh += PAGE;
	NEED(TIMED(page[0]++) == 0);
	NEED(page[0] == 1);
	return GOOD;
}

/* The kernel compares with another value while it holds one spin lock, and does not wait. */
static enum result lock(void)
{
	static unsigned int word = 5;

	NEED(TIMED(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 4, NULL, NULL, 0)) == -1);
	NEED(errno == EAGAIN);
	return GOOD;
}

static enum result do_nothing(void)
{
	return TIMED(0) ? WRONG : GOOD;
}

static int by_size(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

/* The median of what it takes; the first round is not counted, as it finds the kernel's caches empty. */
static uint64_t median(enum result (*make)(void), int rounds)
{
	uint64_t found[MOST_ROUNDS];

	for (int round = -1; round < rounds; round++) {
		if (make() != GOOD)
			return 0;
		if (round >= 0)
			found[round] = spent;
	}
	qsort(found, (size_t)rounds, sizeof(found[0]), by_size);
	return found[rounds / 2];
}

static void yield_for_ever(void)
{
	for (;;) {
		++*turns;
		sched_yield();
	}
}

static void answer_for_ever(void)
{
	char byte;

	while (read(to_child[0], &byte, 1) == 1) {
		byte = 'b';
		if (write(from_child[1], &byte, 1) != 1)
			break;
	}
}

/* The median of what it takes while a child does something. */
static uint64_t with_child(void (*child_does)(void), enum result (*make)(void), int rounds)
{
	uint64_t cost;
	pid_t child = fork();

	if (child == 0) {
		child_does();
		_exit(0);
	}
	if (child < 0) {
		failed(__LINE__);
		return 0;
	}
	/* It comes to where it only answers. */
	sched_yield();
	cost = median(make, rounds);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return cost;
}

int main(int count, char **arguments)
{
	static struct {
		const char *name;
		enum result (*make)(void);
		void (*child_does)(void);
		unsigned long long cost;
		int line;
	} all[] = {
		{"context-switch", two_switches, yield_for_ever, 0, 0},
		{"pipe-round-trip", round_trip, answer_for_ever, 0, 0},
		{"page-fault", fault, NULL, 0, 0},
		{"spin-lock", lock, NULL, 0, 0},
	};
	/* Of the same priority, so that to yield is to let the other run. */
	struct sched_param parameters = {.sched_priority = 1};
	int rounds = count > 1 ? atoi(arguments[1]) : 21;
	uint64_t nothing;
	cpu_set_t first;
	char *pages;

	if (rounds < 1 || rounds > MOST_ROUNDS) {
		fprintf(stderr, "primitives: expected 1 to %d rounds\n", MOST_ROUNDS);
		return 2;
	}
	CPU_ZERO(&first);
	CPU_SET(0, &first);
	turns = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pages = mmap(NULL, (MOST_ROUNDS + 1) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (turns == MAP_FAILED || pages == MAP_FAILED || pipe(to_child) || pipe(from_child) ||
	    sched_setaffinity(0, sizeof(first), &first) || sched_setscheduler(0, SCHED_FIFO, &parameters)) {
		perror("primitives");
		return 1;
	}
	fresh = pages;
	fresh_end = pages + (MOST_ROUNDS + 1) * PAGE;
	nothing = median(do_nothing, rounds);
	for (size_t at = 0; at < sizeof(all) / sizeof(all[0]); at++) {
		failed_line = 0;
		all[at].cost = all[at].child_does ? with_child(all[at].child_does, all[at].make, rounds) :
						    median(all[at].make, rounds);
		all[at].line = failed_line;
	}
	for (size_t at = 0; at < sizeof(all) / sizeof(all[0]); at++) {
		const char *topic = all[at].line ? "wrong" : "call";

		printf("trimtab: %s %s %llu\n", topic, all[at].name,
		       all[at].line ? (unsigned long long)all[at].line : all[at].cost - nothing);
	}
	return 0;
}
