// SPDX-License-Identifier: GPL-2.0-only
/* Where a thread is, how it gets there, and what the module says of it. */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "suite.h"

/* The number of the CPU in the machine, whatever Linux calls it. */
unsigned int apic_id(void)
{
	unsigned int a = 1, b, c = 0, d;

	__asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return b >> 24;
}

void spin(long rounds)
{
	if (rounds > 0)
		__asm__ volatile("1: dec %0; jnz 1b" : "+r"(rounds));
}

double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* A number from debugfs; -1 if it is not there. */
long long status(const char *name)
{
	char line[256];
	long long value = -1;
	FILE *file = fopen("/sys/kernel/debug/appkernel/status", "r");
	size_t length = strlen(name);

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && line[length] == ' ')
			value = atoll(line + length + 1);
	if (file)
		fclose(file);
	return value;
}

/* A number of the module's CPUs, of all together. */
long counted(const char *name)
{
	char line[512], word[32], *at;
	long count = 0, one;
	FILE *file = fopen("/sys/kernel/debug/appkernel/status", "r");

	snprintf(word, sizeof(word), " %s ", name);
	while (file && fgets(line, sizeof(line), file)) {
		at = strstr(line, word);
		if (at && sscanf(at + strlen(word), "%ld", &one) == 1)
			count += one;
	}
	if (file)
		fclose(file);
	return count;
}

/* How many CPUs the module has. */
int cpus(void)
{
	char line[256];
	int count = 0;
	FILE *file = fopen("/sys/kernel/debug/appkernel/status", "r");

	while (file && fgets(line, sizeof(line), file))
		count += !strncmp(line, "cpu ", 4);
	if (file)
		fclose(file);
	return count;
}

int attach(const char *how)
{
	int file, error;

	if (!strcmp(how, "proxy"))
		return attach_proxy();
	/* By the test itself. */
	if (!strcmp(how, "later"))
		return 0;
	file = open("/dev/appkernel", O_WRONLY | O_CLOEXEC);
	error = file < 0 || write(file, how, strlen(how)) != (ssize_t)strlen(how);
	if (file >= 0)
		close(file);
	return error;
}

/* Whether a CPU is the module's: Linux may have several. Calls Linux the first time only. */
int is_ours(unsigned int id)
{
	static unsigned int ids[16], count;
	char line[256];
	FILE *file = count ? NULL : fopen("/sys/kernel/debug/appkernel/status", "r");

	while (file && count < ARRAY_SIZE(ids) && fgets(line, sizeof(line), file))
		count += sscanf(line, "cpu %*u apic %u ", &ids[count]) == 1;
	if (file)
		fclose(file);
	for (unsigned int i = 0; i < count; i++)
		if (ids[i] == id)
			return 1;
	return 0;
}

/* Spins until the thread is on a CPU of the module's; 0 if it never is. */
int elsewhere(void)
{
	for (int i = 0; i < 1000; i++) {
		if (is_ours(apic_id()))
			return 1;
		spin(100000);
		sched_yield();
	}
	return 0;
}
