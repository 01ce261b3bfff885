/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Says how long a command takes in a guest:
 *
 *     scale [-k] [-r STRETCHES] [-p] COPIES PROGRAM [ARGUMENT...]
 *     scale -t COPIES PROGRAM [ARGUMENT...]
 *
 * COPIES processes run the command at the same time; the time is from when they are let go until the
 * last one has ended. With -p, each is bound to a CPU of its own, in turn. It writes two lines, after
 * all that the command wrote:
 *
 *     trimtab: scale cpus NUMBER             CPUs that Linux has
 *     trimtab: scale nanoseconds NUMBER
 *
 * With -k, for each counter of a kernel with coarse locks that grew meanwhile, by how much:
 *
 *     trimtab: locks NAME NUMBER
 *
 * With -r as well, on one CPU, what that one did in its order, but at most so many stretches of time, and the
 * thread that ran, 0 for none:
 *
 *     trimtab: record NUMBER PLACE:CYCLES:THREAD PLACE:CYCLES:THREAD...
 *
 * NUMBER counts these lines from 0. Where PLACE is wakes or wakes.interrupt, a thread is woken, so many cycles
 * after the stretch began that comes next.
 *
 * With -t, the copies run in turn, each alone and on a CPU of its own, and then all of them once more, each
 * between two marks for who watches the guest: instructions that do nothing. The second time, the kernel
 * need not get memory for its caches any more. It says how many CPUs there are, and what all of it took.
 *
 * Time is read from the processor, because its counter is the clock that QEMU gives to a CPU: Linux'
 * own clocks are calibrated against it, and so a little off. The kernel's counters are those of when their
 * file was opened: it is opened right before and right after, and read when all is over.
 */
#define _GNU_SOURCE /* CPU_SET */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
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

/* What qemu/trimtab_locks.c knows. */
static void mark(void)
{
	asm volatile("xchg %%bx, %%bx" : : : "memory");
}

/* Whether a program failed that has ended. */
static int failed_one(void)
{
	int status;

	if (wait(&status) < 0)
		fail("wait for a process");
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* Waits until the gate is closed or something comes through it, and then is the program. */
static void copy(const int gate[2], char **program)
{
	char byte;

	close(gate[1]);
	if (read(gate[0], &byte, 1) < 0)
		fail("wait for the start");
	close(gate[0]);
	execv(program[0], program);
	fail("run the program");
}

/* The counters of the kernel's coarse locks. */
#define COUNTERS "/counters/giant/counters"
#define MOST_COUNTERS 1024

static struct counter {
	char name[40];
	unsigned long long value;
} counters[2][MOST_COUNTERS];

/* Keeps what they are now, to be read later. */
static int keep_counters(void)
{
	int file = open(COUNTERS, O_RDONLY);

	if (file < 0)
		fail("open the counters of coarse locks");
	return file;
}

/* Reads what was kept; returns how many there are. */
static int read_counters(int kept, struct counter *found)
{
	FILE *file = fdopen(kept, "r");
	int count = 0;

	if (!file)
		fail("read the counters of coarse locks");
	while (count < MOST_COUNTERS && fscanf(file, "%39s %llu", found[count].name, &found[count].value) == 2)
		count++;
	fclose(file);
	return count;
}

/* By how much they grew from one file to another. */
static void print_counters(int before, int after)
{
	int count = read_counters(before, counters[0]);

	if (read_counters(after, counters[1]) != count)
		fail("find the counters that were there");
	for (int at = 0; at < count; at++) {
		unsigned long long from = counters[0][at].value, to = counters[1][at].value;

		/* The clock of another CPU may be a little behind, and so what it does seem a little shorter. */
		if (to > from)
			printf("trimtab: locks %s %llu\n", counters[1][at].name, to - from);
	}
}

#define RECORD "/counters/giant/record"
#define STRETCHES_OF_A_LINE 32

/* Has the kernel keep what CPUs do from now on. */
static void start_record(const char *stretches)
{
	ssize_t length = (ssize_t)strlen(stretches);
	int file = open(RECORD, O_WRONLY);

	if (file < 0 || write(file, stretches, (size_t)length) != length)
		fail("have the kernel keep what its CPUs do");
	close(file);
}

static void print_record(int kept)
{
	FILE *file = fdopen(kept, "r");
	unsigned long long cycles;
	int cpu, thread, count = 0;
	char place[40];

	if (!file)
		fail("read what the CPU did");
	/* The first is the call that turned it on. */
	if (fscanf(file, "cpu%d %39s %llu %d ", &cpu, place, &cycles, &thread) != 4)
		fail("find what the CPU did");
	while (fscanf(file, "cpu%d %39s %llu %d ", &cpu, place, &cycles, &thread) == 4) {
		if (count % STRETCHES_OF_A_LINE == 0)
			printf("%strimtab: record %d", count ? "\n" : "", count / STRETCHES_OF_A_LINE);
		printf(" %s:%llu:%d", place, cycles, thread);
		count++;
	}
	if (count)
		printf("\n");
	fclose(file);
}

/* Opens a file of the kernel's, to be read later. */
static int kept_record(void)
{
	int file = open(RECORD, O_RDONLY);

	if (file < 0)
		fail("open what the CPU did");
	return file;
}

/* Starts a process that waits for the gate; it is bound to a CPU, or to none if that is negative. */
static void start_copy(int cpu, const cpu_set_t *all, const int gate[2], char **program)
{
	pid_t child = fork();

	if (child < 0)
		fail("start a process");
	if (child != 0)
		return;
	if (cpu >= 0)
		bind_to(cpu);
	else if (sched_setaffinity(0, sizeof(*all), all) != 0)
		fail("free a process of a CPU");
	copy(gate, program);
}

/* Runs all copies, one after the other, each between two marks where these are asked for. Whether one failed. */
static int run_in_turn(int copies, int cpus, int is_marked, char **program)
{
	int failed = 0, (*gates)[2] = calloc((size_t)copies, sizeof(*gates));

	if (!gates)
		fail("find memory");
	/* All of them begin before the first one ends: so none gets the memory that another one had. */
	for (int number = 0; number < copies; number++) {
		if (pipe(gates[number]) != 0)
			fail("make a pipe");
		start_copy(number % cpus, NULL, gates[number], program);
	}
	/* They wait then. */
	usleep(20000);
	for (int number = 0; number < copies; number++) {
		if (is_marked)
			mark();
		if (write(gates[number][1], "", 1) != 1)
			fail("let a process go");
		failed |= failed_one();
		if (is_marked)
			mark();
		close(gates[number][0]);
		close(gates[number][1]);
	}
	free(gates);
	return failed;
}

int main(int argc, char **argv)
{
	int counted = 0, bound = 0, in_turn = 0, record = -1, copies, before = -1, after = -1, option;
	const char *stretches = NULL;
	int cpus = (int)sysconf(_SC_NPROCESSORS_ONLN);
	unsigned long long start;
	int gate[2], failed = 0;
	cpu_set_t all;

	/* Not those of the program. */
	while ((option = getopt(argc, argv, "+kpr:t")) != -1) {
		counted |= option == 'k';
		bound |= option == 'p';
		in_turn |= option == 't';
		if (option == 'r')
			stretches = optarg;
	}
	copies = argc > optind + 1 ? atoi(argv[optind]) : 0;
	if (copies < 1 || (stretches && (!counted || cpus > 1)) || (in_turn && (counted || bound))) {
		printf("scale: expected [-k] [-r STRETCHES] [-p] COPIES PROGRAM, and -r with -k on one CPU; or -t COPIES PROGRAM\n");
		return 2;
	}
	if (counted && mkdir("/counters", 0700) != 0)
		fail("make a folder for the counters");
	if (counted && mount("debugfs", "/counters", "debugfs", 0, NULL) != 0)
		fail("mount the kernel's counters");
	if (pipe(gate) != 0)
		fail("make a pipe");
	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		fail("ask for its CPUs");
	/* The clocks of two CPUs may differ a little: both readings are of the same one. */
	bind_to(0);
	for (int number = 0; number < copies && !in_turn; number++)
		start_copy(bound ? number % cpus : -1, &all, gate, argv + optind + 1);
	/* All of them wait then. */
	usleep(20000);
	if (counted)
		before = keep_counters();
	if (stretches)
		start_record(stretches);
	start = __rdtsc();
	close(gate[0]);
	close(gate[1]);
	for (int time = 0; time < 2 && in_turn; time++)
		failed |= run_in_turn(copies, cpus, time == 1, argv + optind + 1);
	for (int number = 0; number < copies && !in_turn; number++)
		failed |= failed_one();
	start = __rdtsc() - start;
	if (stretches)
		record = kept_record();
	if (counted) {
		after = keep_counters();
		print_counters(before, after);
	}
	if (stretches)
		print_record(record);
	printf("trimtab: scale cpus %d\ntrimtab: scale nanoseconds %llu\n", cpus, start);
	return failed;
}
