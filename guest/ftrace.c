/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Sends what the function tracer recorded to the host.
 *
 * A boot calls functions millions of times. The kernel formats a line of text in some thousand
 * instructions, which would take minutes in an emulated machine. So the buffers are read in binary
 * (per_cpu/cpuN/trace_pipe_raw), only the first call of each function is kept, and those few
 * thousand calls are written as the text that the kernel would have given with sym-addr:
 *
 *     swapper/0-1       [000] .....     0.123456: callee <address> <-caller <address>
 *
 * A page of the buffer:
 *
 *     8 bytes  time of the first event, ns
 *     8 bytes  bytes of events that follow, and flags
 *     events   a word (type in 5 bits, time since the event before in 27), then data
 *
 * The data of a function event: 8 bytes common to all events (2 bytes id, flags, process id),
 * 8 bytes address of the called function, 8 bytes address called from.
 */
#include "init.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACING "/sys/kernel/tracing/"

/* Types above the ones that give a length in words; include/linux/ring_buffer.h tells. */
enum { DATA_LENGTH_FOLLOWS = 0, PADDING = 29, TIME_EXTEND = 30, TIME_STAMP = 31 };

/* The id of function events; fixed since the kernel has them. */
#define FUNCTION_EVENT 1

/* One call: the first of its function. A power of two of them, far above any kernel's functions. */
struct call {
	uint64_t ip;
	uint64_t parent;
	uint64_t time;
	uint64_t number;
	int32_t pid;
	int32_t cpu;
};

#define SLOTS (1u << 18)

static struct call *calls;
static uint32_t functions;
static uint64_t total;
static uint64_t lost;

/*
 * The clock of a CPU may jump back while it is being set up. Events of one CPU come in their order,
 * so an event counts as no earlier than the one before it.
 */
static uint64_t latest;

static struct call *slot_for(uint64_t ip)
{
	uint32_t slot = (uint32_t)((ip * 0x9e3779b97f4a7c15ull) >> 46);

	while (calls[slot].ip != 0 && calls[slot].ip != ip)
		slot = (slot + 1) & (SLOTS - 1);
	return &calls[slot];
}

static void called(const unsigned char *data, uint64_t time, int cpu)
{
	uint64_t ip;
	struct call *call;

	memcpy(&ip, data + 8, sizeof(ip));
	total++;
	if (time < latest)
		time = latest;
	latest = time;
	call = slot_for(ip);
	if (call->ip == ip && call->time <= time)
		return;
	if (call->ip == 0) {
		if (functions >= SLOTS / 2) {
			lost++;
			return;
		}
		functions++;
	}
	call->ip = ip;
	memcpy(&call->parent, data + 16, sizeof(call->parent));
	memcpy(&call->pid, data + 4, sizeof(call->pid));
	call->time = time;
	call->number = total;
	call->cpu = cpu;
}

static void read_page(const unsigned char *page, size_t size, int cpu)
{
	uint64_t time;
	uint64_t commit;
	size_t end;

	if (size < 16)
		return;
	memcpy(&time, page, sizeof(time));
	memcpy(&commit, page + 8, sizeof(commit));
	/* The bits above the length say that events before this page were overwritten. */
	end = 16 + (size_t)(commit & 0xfffff);
	if (end > size)
		end = size;

	for (size_t at = 16; at + 4 <= end;) {
		uint32_t word;
		uint32_t more = 0;
		uint32_t type;
		uint32_t delta;
		size_t length;

		memcpy(&word, page + at, sizeof(word));
		type = word & 31;
		delta = word >> 5;
		at += 4;
		if (at + 4 <= end)
			memcpy(&more, page + at, sizeof(more));

		if (type == PADDING) {
			if (delta == 0)
				return;
			time += delta;
			at += more;
			continue;
		}
		if (type == TIME_EXTEND) {
			time += delta + ((uint64_t)more << 27);
			at += 4;
			continue;
		}
		if (type == TIME_STAMP) {
			/* Holds 59 bits; the top ones stay as they were. */
			time = (time & ~((1ull << 59) - 1)) | (delta + ((uint64_t)more << 27));
			at += 4;
			continue;
		}
		time += delta;
		if (type == DATA_LENGTH_FOLLOWS) {
			/* The length counts its own word. */
			if (more < 4)
				return;
			length = more - 4;
			at += 4;
		} else {
			length = type * 4;
		}
		if (at + length > end)
			return;
		if (length >= 24 && (page[at] | page[at + 1] << 8) == FUNCTION_EVENT)
			called(page + at, time, cpu);
		at += length;
	}
}

static int put(const char *path, const char *value)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t wrote;

	if (file < 0)
		return -1;
	wrote = write(file, value, strlen(value));
	close(file);
	return wrote < 0 ? -1 : 0;
}

/* Adds what the kernel says it dropped on this CPU. */
static void count_lost(int cpu)
{
	char path[96];
	char line[128];
	FILE *file;

	snprintf(path, sizeof(path), TRACING "per_cpu/cpu%d/stats", cpu);
	file = fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		unsigned long long number;

		if (sscanf(line, "overrun: %llu", &number) == 1 ||
		    sscanf(line, "commit overrun: %llu", &number) == 1 ||
		    sscanf(line, "dropped events: %llu", &number) == 1)
			lost += number;
	}
	fclose(file);
}

static int read_cpu(int cpu)
{
	static unsigned char page[1 << 16];
	char path[96];
	int file;

	latest = 0;
	/* Before reading: reading takes the events out. */
	count_lost(cpu);
	snprintf(path, sizeof(path), TRACING "per_cpu/cpu%d/trace_pipe_raw", cpu);
	file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (file < 0)
		return -1;
	for (;;) {
		ssize_t size = read(file, page, (size_t)sysconf(_SC_PAGESIZE));

		if (size <= 0)
			break;
		read_page(page, (size_t)size, cpu);
	}
	close(file);
	return 0;
}

static int by_time(const void *left, const void *right)
{
	const struct call *a = left;
	const struct call *b = right;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return 0;
}

/* A symbol of the kernel's text, in /proc/kallsyms. */
struct symbol {
	uint64_t address;
	char *name;
};

static struct symbol *symbols;
static size_t symbol_count;

static int by_address(const void *left, const void *right)
{
	const struct symbol *a = left;
	const struct symbol *b = right;

	return a->address < b->address ? -1 : a->address > b->address;
}

static void read_symbols(void)
{
	char line[512];
	size_t room = 0;
	FILE *file = fopen("/proc/kallsyms", "re");

	if (!file)
		return;
	while (fgets(line, sizeof(line), file)) {
		char *rest;
		uint64_t address = strtoull(line, &rest, 16);
		char *end;

		if (address == 0 || rest[0] != ' ' || !strchr("tTwW", rest[1]) || rest[2] != ' ')
			continue;
		rest += 3;
		end = rest + strcspn(rest, "\t\n");
		*end = '\0';
		if (symbol_count == room) {
			struct symbol *more;

			room = room ? room * 2 : 1 << 15;
			more = realloc(symbols, room * sizeof(*symbols));
			if (!more)
				break;
			symbols = more;
		}
		symbols[symbol_count].address = address;
		symbols[symbol_count].name = strdup(rest);
		if (symbols[symbol_count].name)
			symbol_count++;
	}
	fclose(file);
	qsort(symbols, symbol_count, sizeof(*symbols), by_address);
}

static const char *name_of(uint64_t address)
{
	size_t low = 0;
	size_t high = symbol_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? "0x0" : symbols[low - 1].name;
}

int ftrace_send(int out)
{
	DIR *cpus;
	struct dirent *entry;
	uint32_t kept = 0;
	FILE *text;

	if (put(TRACING "tracing_on", "0") != 0) {
		say("error cannot stop the function tracer: %s", strerror(errno));
		return -1;
	}
	/* A traced kernel is slow, and there is much to read. (Another tracer would empty the buffers.) */
	put("/proc/sys/kernel/ftrace_enabled", "0");
	calls = calloc(SLOTS, sizeof(*calls));
	cpus = opendir(TRACING "per_cpu");
	text = fdopen(out, "w");
	if (!calls || !cpus || !text) {
		say("error cannot read the function tracer's buffers: %s", strerror(errno));
		return -1;
	}
	while ((entry = readdir(cpus))) {
		int cpu;

		if (sscanf(entry->d_name, "cpu%d", &cpu) == 1 && read_cpu(cpu) != 0) {
			say("error cannot read the buffer of CPU %d: %s", cpu, strerror(errno));
			return -1;
		}
	}
	closedir(cpus);

	for (uint32_t slot = 0; slot < SLOTS; slot++)
		if (calls[slot].ip != 0)
			calls[kept++] = calls[slot];
	qsort(calls, kept, sizeof(*calls), by_time);
	read_symbols();

	/* Whoever reads this takes the difference for events that were lost. */
	fprintf(text, "# tracer: function\n#\n# entries-in-buffer/entries-written: %u/%u\n#\n", kept,
		kept);
	for (uint32_t i = 0; i < kept; i++) {
		const struct call *call = &calls[i];

		fprintf(text, "           <...>-%-7d [%03d] ..... %5llu.%06llu: %s <%016llx> <-%s <%016llx>\n",
			call->pid, call->cpu, (unsigned long long)(call->time / 1000000000),
			(unsigned long long)(call->time / 1000 % 1000000), name_of(call->ip),
			(unsigned long long)call->ip, name_of(call->parent),
			(unsigned long long)call->parent);
	}
	if (fflush(text) != 0) {
		say("error cannot send the trace: %s", strerror(errno));
		return -1;
	}
	say("ftrace %llu %u %llu", (unsigned long long)total, kept, (unsigned long long)lost);
	return 0;
}
