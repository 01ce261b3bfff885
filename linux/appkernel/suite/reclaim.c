// SPDX-License-Identifier: GPL-2.0-only
/* Memory runs short: while Linux reclaims some, threads are on its CPU. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "suite.h"

#define STEP (1 << 20)

/* Takes memory until Linux looks for more; where that fails, it is this process that Linux ends. */
static void takes_memory(long long before)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "w");

	if (!file || fputs("1000", file) < 0 || fclose(file))
		_exit(1);
	while (status("reclaims") == before)
		mmap(NULL, STEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	_exit(0);
}

int test_reclaim(void)
{
	long long before = status("reclaims"), left;
	pid_t computes = fork(), takes;
	int result;

	if (computes == 0)
		for (;;)
			spin(1000000);
	takes = fork();
	if (takes == 0)
		takes_memory(before);
	if (computes < 0 || takes < 0 || waitpid(takes, &result, 0) != takes)
		return 1;
	/* Its thread that reclaims goes to sleep again, and then threads leave as before. */
	usleep(300000);
	left = status("left");
	result = !elsewhere() || status("left") == left;
	kill(computes, SIGKILL);
	waitpid(computes, NULL, 0);
	return result || status("reclaims") == before || status("strays") != 0;
}
