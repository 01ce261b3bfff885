// SPDX-License-Identifier: GPL-2.0-only
/* What comes with a page that is written elsewhere for the first time: pages around it, where nobody minds. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "suite.h"

#define PAGES 64

/* How many of so many pages are in memory. */
static int resident(char *at, int pages)
{
	unsigned char found[PAGES];
	int count = 0;

	if (mincore(at, (size_t)pages * PAGE, found))
		return -1;
	for (int i = 0; i < pages; i++)
		count += found[i] & 1;
	return count;
}

static char *region(void)
{
	return mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Writes one page elsewhere; gives how many came. */
static int written(char *at)
{
	if (!elsewhere())
		return -1;
	at[PAGES / 2 * PAGE] = 1;
	return resident(at, PAGES);
}

/* All but that page are zeroes, and a child that writes them writes its own. */
static int is_wrong(char *at)
{
	int result;
	pid_t child;

	for (long i = 0; i < PAGES * PAGE; i++)
		if (at[i] != (i == PAGES / 2 * PAGE))
			return 1;
	child = fork();
	if (child == 0) {
		memset(at, 5, PAGES * PAGE);
		_exit(0);
	}
	if (child < 0 || waitpid(child, &result, 0) != child || result)
		return 1;
	for (long i = 0; i < PAGES * PAGE; i++)
		if (at[i] != (i == PAGES / 2 * PAGE))
			return 1;
	return 0;
}

int test_around(void)
{
	char *plain = region(), *here_and_there = region(), *locked = region(), *ends = region();
	int came;

	if (plain == MAP_FAILED || here_and_there == MAP_FAILED || locked == MAP_FAILED || ends == MAP_FAILED)
		return 1;
	/* Page by page, also where Linux has huge ones. */
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		return 1;
	came = written(plain);
	if (came <= 1 || came >= PAGES || is_wrong(plain))
		return 1;
	if (madvise(here_and_there, PAGES * PAGE, MADV_RANDOM) || written(here_and_there) != 1)
		return 1;
	if (mlock2(locked, PAGES * PAGE, MLOCK_ONFAULT) || written(locked) != 1)
		return 1;
	/* Nothing comes behind the end of what may be written. */
	if (mprotect(ends + (PAGES / 2 + 1) * PAGE, (PAGES / 2 - 1) * PAGE, PROT_NONE) || written(ends) < 1)
		return 1;
	if (mprotect(ends, PAGES * PAGE, PROT_READ | PROT_WRITE))
		return 1;
	return resident(ends + PAGES / 2 * PAGE, PAGES / 2) != 1 || is_wrong(ends);
}
