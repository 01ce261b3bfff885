/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What the programs of rental memory share: options, random numbers that are the same each time, times, what the
 * kernel counts, and lines to the host, `trimtab: TOPIC NAME VALUE`.
 */
#ifndef TRIMTAB_RENT_H
#define TRIMTAB_RENT_H

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096UL
#define MIB (1024UL * 1024)

/* Says why a program cannot go on, and ends it. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void fail(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	printf("trimtab: error ");
	vprintf(format, arguments);
	printf("\n");
	va_end(arguments);
	fflush(stdout);
	_exit(1);
}

/* ---- Options: --name VALUE ---- */

enum option_kind { OPTION_FLAG, OPTION_NUMBER, OPTION_RANGE, OPTION_TEXT };

struct option_value {
	const char *name;
	enum option_kind kind;
	/* A bool, a long, two longs, or a const char *. */
	void *value;
	/* Of a number. */
	long least, most;
};

__attribute__((noreturn)) static inline void usage(const struct option_value *known)
{
	printf("expected options:");
	for (; known->name; known++) {
		printf(" --%s", known->name);
		if (known->kind == OPTION_NUMBER)
			printf(" %ld..%ld", known->least, known->most);
		else if (known->kind != OPTION_FLAG)
			printf(known->kind == OPTION_RANGE ? " FROM-TO" : " TEXT");
	}
	printf("\n");
	fflush(stdout);
	_exit(2);
}

static inline bool option_number(const char **text, const struct option_value *option, long *value)
{
	char *end;

	errno = 0;
	*value = strtol(*text, &end, 10);
	if (end == *text || errno || *value < option->least || *value > option->most)
		return false;
	*text = end;
	return true;
}

static inline bool option_take(const struct option_value *option, const char *text)
{
	long *numbers = option->value;

	switch (option->kind) {
	case OPTION_FLAG:
		*(bool *)option->value = true;
		return true;
	case OPTION_TEXT:
		*(const char **)option->value = text;
		return *text != '\0';
	case OPTION_NUMBER:
		return option_number(&text, option, numbers) && *text == '\0';
	case OPTION_RANGE:
		if (!option_number(&text, option, &numbers[0]))
			return false;
		numbers[1] = numbers[0];
		if (*text == '-' && *++text && !option_number(&text, option, &numbers[1]))
			return false;
		return *text == '\0' && numbers[0] <= numbers[1];
	}
	return false;
}

/* Reads options up to one that is none, or to `--`; returns what follows. */
static inline char **options_read(char **argv, const struct option_value *known)
{
	for (argv++; *argv && strncmp(*argv, "--", 2) == 0; argv++) {
		const struct option_value *option = known;

		if (strcmp(*argv, "--") == 0)
			return argv + 1;
		while (option->name && strcmp(option->name, *argv + 2) != 0)
			option++;
		if (!option->name) {
			printf("%s is no option\n", *argv);
			usage(known);
		}
		if (option->kind != OPTION_FLAG && !*++argv) {
			printf("--%s has no value\n", option->name);
			usage(known);
		}
		if (!option_take(option, *argv)) {
			printf("--%s cannot be %s\n", option->name, *argv);
			usage(known);
		}
	}
	return argv;
}

/* ---- Random numbers ---- */

/* A state that is not zero, and differs much between seeds that differ little: splitmix64 of S. Vigna. */
static inline uint64_t random_seeded(uint64_t seed)
{
	seed += 0x9e3779b97f4a7c15ULL;
	seed = (seed ^ (seed >> 30)) * 0xbf58476d1ce4e5b9ULL;
	seed = (seed ^ (seed >> 27)) * 0x94d049bb133111ebULL;
	seed ^= seed >> 31;
	return seed ? seed : 1;
}

/* xorshift64* of S. Vigna. */
static inline uint64_t random_after(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1dULL;
}

/* From 0 to `count` - 1. */
static inline uint64_t random_below(uint64_t *state, uint64_t count)
{
	return (uint64_t)(((unsigned __int128)random_after(state) * count) >> 64);
}

/* From the first to the second of two numbers. */
static inline long random_between(uint64_t *state, const long range[2])
{
	return range[0] + (long)random_below(state, (uint64_t)(range[1] - range[0]) + 1);
}

/* ---- Times ---- */

static inline uint64_t now_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (uint64_t)time.tv_sec * 1000000000ULL + (uint64_t)time.tv_nsec;
}

static inline void sleep_us(long microseconds)
{
	struct timespec time = {microseconds / 1000000, microseconds % 1000000 * 1000};

	if (microseconds > 0)
		nanosleep(&time, NULL);
}

static inline int compare_times(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

/* Says the median, the 99th percentile (of nearest rank), the mean and the maximum of times, and sorts them. */
static inline void say_times(const char *topic, const char *prefix, uint64_t *times, size_t count)
{
	unsigned __int128 sum = 0;

	if (count == 0)
		return;
	qsort(times, count, sizeof(*times), compare_times);
	for (size_t at = 0; at < count; at++)
		sum += times[at];
	printf("trimtab: %s %sp50 %llu\n", topic, prefix, (unsigned long long)times[(count * 50 + 99) / 100 - 1]);
	printf("trimtab: %s %sp99 %llu\n", topic, prefix, (unsigned long long)times[(count * 99 + 99) / 100 - 1]);
	printf("trimtab: %s %smean %llu\n", topic, prefix, (unsigned long long)(sum / count));
	printf("trimtab: %s %smax %llu\n", topic, prefix, (unsigned long long)times[count - 1]);
}

/* ---- What the kernel counts ---- */

#define RENTAL_FOLDER "/sys/kernel/debug/rental"
#define MOST_COUNTERS 256

struct counters {
	int count;
	struct {
		char name[48];
		long long value;
	} all[MOST_COUNTERS];
};

/* Lines of a name and a number; a file that is not there has none. */
static inline void counters_of(const char *path, struct counters *found)
{
	FILE *file = fopen(path, "r");
	char line[160];

	found->count = 0;
	while (file && found->count < MOST_COUNTERS && fgets(line, sizeof(line), file))
		if (sscanf(line, "%47s %lld", found->all[found->count].name, &found->all[found->count].value) == 2)
			found->count++;
	if (file)
		fclose(file);
}

/* The counters of rental memory; a kernel without it has none. */
static inline void counters_read(struct counters *found)
{
	if (access(RENTAL_FOLDER, F_OK) != 0)
		mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
	counters_of(RENTAL_FOLDER "/counters", found);
}

static inline bool counter_of(const struct counters *in, const char *name, long long *value)
{
	for (int at = 0; at < in->count; at++) {
		if (strcmp(in->all[at].name, name) == 0) {
			*value = in->all[at].value;
			return true;
		}
	}
	return false;
}

/* Whether a counter says how things are, and not how often something happened. */
static inline bool is_state(const char *name)
{
	const char *end = name + strlen(name);

	return strncmp(name, "pages_", 6) == 0 || (end - name > 4 && strcmp(end - 4, "_max") == 0) ||
	       (end - name > 5 && strcmp(end - 5, "_last") == 0);
}

/* By how much each counter grew, and those that are states as they are. */
static inline void counters_say(const char *topic, const struct counters *before, const struct counters *after)
{
	for (int at = 0; at < after->count; at++) {
		const char *name = after->all[at].name;
		long long was = 0;

		if (!is_state(name))
			counter_of(before, name, &was);
		printf("trimtab: %s %s %lld\n", topic, name, after->all[at].value - was);
	}
}

/* Writes a word to a file of the kernel's; returns whether it took it. */
static inline bool tell(const char *path, const char *word)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t length = (ssize_t)strlen(word);
	bool done = file >= 0 && write(file, word, (size_t)length) == length;

	if (file >= 0)
		close(file);
	return done;
}

/* A number of /proc/meminfo, in KiB, or -1. */
static inline long meminfo_kib(const char *name)
{
	struct counters *found = malloc(sizeof(*found));
	long long value = -1;
	char label[64];

	snprintf(label, sizeof(label), "%s:", name);
	if (found) {
		counters_of("/proc/meminfo", found);
		counter_of(found, label, &value);
	}
	free(found);
	return (long)value;
}

/*
 * How long the only CPU of this machine has been busy since it was started, in nanoseconds, to 10 ms. A CPU that waits
 * for a disk is idle, too; /proc/uptime says otherwise.
 */
static inline uint64_t busy_ns(void)
{
	unsigned long long user = 0, nice = 0, system = 0, irq = 0, softirq = 0;
	FILE *file = fopen("/proc/stat", "r");

	if (file && fscanf(file, "cpu %llu %llu %llu %*u %*u %llu %llu", &user, &nice, &system, &irq, &softirq) != 5)
		user = nice = system = irq = softirq = 0;
	if (file)
		fclose(file);
	/* Linux counts hundredths of a second for programs, on all machines. */
	return (user + nice + system + irq + softirq) * 10000000;
}

/* Sectors of 512 bytes that a disk has read and written so far. */
struct sectors {
	bool known;
	unsigned long long read, written;
};

static inline struct sectors sectors_of(const char *disk)
{
	struct sectors found = {0};
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/block/%s/stat", disk);
	file = fopen(path, "r");
	found.known = file && fscanf(file, "%*u %*u %llu %*u %*u %*u %llu", &found.read, &found.written) == 2;
	if (file)
		fclose(file);
	return found;
}

#endif
