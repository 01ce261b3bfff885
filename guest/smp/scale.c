/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Says how long a command takes in a guest:
 *
 *     scale [-p] COPIES PROGRAM [ARGUMENT...]
 *
 * COPIES processes run the command at the same time; the time is from when they are let go until the
 * last one has ended. With -p, each is bound to a CPU of its own, in turn. It writes two lines, after
 * all that the command wrote:
 *
 *     trimtab: scale cpus NUMBER             CPUs that Linux has
 *     trimtab: scale nanoseconds NUMBER
 *
 * Time is read from the processor, because its counter is the clock that QEMU gives to a CPU: Linux'
 * own clocks are calibrated against it, and so a little off.
 */
#define _GNU_SOURCE /* CPU_SET */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

static void fail(const char *what)
{
	printf("scale: cannot %s: %s\n", what, strerror(errno));
	exit(1);
}

static void bind_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		fail("bind a process to a CPU");
}

/* Waits until the gate is closed, and then is the program. */
static void copy(const int gate[2], char **program)
{
	char byte;

	close(gate[1]);
	if (read(gate[0], &byte, 1) != 0)
		fail("wait for the start");
	close(gate[0]);
	execv(program[0], program);
	fail("run the program");
}

int main(int argc, char **argv)
{
	int bound = argc > 1 && strcmp(argv[1], "-p") == 0;
	int copies = argc > 2 + bound ? atoi(argv[1 + bound]) : 0;
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	unsigned long long start;
	cpu_set_t all;
	int gate[2], failed = 0, status;

	if (copies < 1) {
		printf("scale: expected [-p] COPIES PROGRAM\n");
		return 2;
	}
	if (pipe(gate) != 0)
		fail("make a pipe");
	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		fail("ask for its CPUs");
	/* The clocks of two CPUs may differ a little: both readings are of the same one. */
	bind_to(0);
	for (int number = 0; number < copies; number++) {
		pid_t child = fork();

		if (child < 0)
			fail("start a process");
		if (child != 0)
			continue;
		if (bound)
			bind_to(number % cpus);
		else if (sched_setaffinity(0, sizeof(all), &all) != 0)
			fail("free a process of a CPU");
		copy(gate, argv + 2 + bound);
	}
	/* All of them wait then. */
	usleep(20000);
	start = __rdtsc();
	close(gate[0]);
	close(gate[1]);
	for (int number = 0; number < copies; number++) {
		if (wait(&status) < 0)
			fail("wait for a process");
		failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
	}
	start = __rdtsc() - start;
	printf("trimtab: scale cpus %d\ntrimtab: scale nanoseconds %llu\n", cpus, start);
	return failed;
}
