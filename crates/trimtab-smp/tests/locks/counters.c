/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Reads the counters of coarse locks while other CPUs go in and out of the kernel: what a CPU did between two
 * readings must be as long as what the CPU that reads did, and that as long as the time between them.
 *
 * Usage: counters READINGS. A copy runs on each CPU; that on CPU 0 reads, the others call.
 */
#define _GNU_SOURCE /* sched_getcpu */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define COUNTERS "/counters/giant/counters"
#define MOST_CPUS 64
/* More than two quanta are; far less than what the others count to. */
#define SLACK 3000ULL
/* An interrupt may come between the counters and the clock. */
#define SLACK_OF_CLOCK 50000ULL
#define COUNT 8000L

static char text[1 << 20];

static int wrong(const char *what)
{
	printf("counters: %s\n", what);
	return 1;
}

/* All that each CPU did, in cycles; returns how many CPUs there are. */
static int read_all(int file, unsigned long long *sums)
{
	size_t size = 0;
	ssize_t more;
	int most = 0;

	while ((more = read(file, text + size, sizeof(text) - 1 - size)) > 0)
		size += (size_t)more;
	text[size] = 0;
	memset(sums, 0, MOST_CPUS * sizeof(*sums));
	for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
		char *name = NULL;
		unsigned long cpu;

		if (strncmp(line, "cpu", 3) != 0)
			return 0;
		cpu = strtoul(line + 3, &name, 10);
		if (cpu >= MOST_CPUS || *name != '.')
			return 0;
		if (strncmp(name, ".taken", 6) == 0 || strncmp(name, ".contended", 10) == 0)
			continue;
		sums[cpu] += strtoull(memchr(name, ' ', (size_t)(end - name)), NULL, 10);
		most = (int)cpu + 1;
	}
	return most;
}

static int readings(long left)
{
	unsigned long long before[MOST_CPUS], now[MOST_CPUS], then = 0;
	int failed = 0;

	for (int first = 1; left-- > 0; first = 0) {
		int file = open(COUNTERS, O_RDONLY);
		unsigned long long time = __rdtsc();
		int cpus;

		if (file < 0)
			return wrong("they cannot be opened");
		cpus = read_all(file, now);
		close(file);
		if (cpus < 1)
			return wrong("they cannot be read");
		for (int cpu = 0; !first && cpu < cpus; cpu++) {
			unsigned long long did = now[cpu] - before[cpu];
			unsigned long long passed = cpu ? now[0] - before[0] : time - then;
			unsigned long long slack = cpu ? SLACK : SLACK_OF_CLOCK;

			if (did + slack < passed || did > passed + slack) {
				printf("counters: CPU %d did %llu in %llu\n", cpu, did, passed);
				failed = 1;
			}
		}
		memcpy(before, now, sizeof(before));
		then = time;
	}
	return failed;
}

int main(int count, char **arguments)
{
	long left = count > 1 ? atol(arguments[1]) : 0;

	if (left < 2)
		return wrong("expected how often to read them, at least twice");
	if (sched_getcpu() == 0)
		return readings(left);
	/* As long as CPU 0 may take. */
	for (left *= 40; left-- > 0;) {
		long to = COUNT / 2;

		__asm__ volatile("1: dec %0; jnz 1b" : "+r"(to) : : "cc");
		syscall(SYS_getppid);
	}
	return 0;
}
