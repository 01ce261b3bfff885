/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The run time of instrumented programs: what a probe needs beyond its stub.
 *
 * Three kinds of code are here. What runs at the program's start, fork and end may use libc. What
 * a stub calls on rare occasions (a thread's first probe in an object, no free frame) runs between
 * save_vectors and restore_vectors of entry_*.S, and may use libc's simple functions. What runs at
 * each probe must leave the vector registers alone: all is compiled with
 * -mgeneral-regs-only, and such code makes system calls itself.
 *
 * The parts are one translation unit, so that what each probe calls is compiled into one piece. This
 * file has how a process begins, forks and ends.
 */
#define _GNU_SOURCE
#include "machine.h"
#include "trimtab_probe.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <unwind.h>

/* Weak: a program may have no instrumented function. */
extern const struct function __start_trimtab_probe_functions[] HIDDEN __attribute__((weak));
extern const struct function __stop_trimtab_probe_functions[] HIDDEN __attribute__((weak));
extern const Elf64_Ehdr __ehdr_start HIDDEN __attribute__((weak));

/* Read by every stub. */
HIDDEN volatile unsigned char trimtab_probe_on;
HIDDEN uint32_t trimtab_probe_hook;
/* Free frames of this thread, and cycles that callees took; stubs use them. */
HIDDEN TLS struct frame *trimtab_probe_frames;
HIDDEN TLS uint64_t trimtab_probe_child;

/* How far the description of a function for hooks of the user's is behind the function's entry in the table,
 * of the same size; stubs that have such hooks inside add it. */
HIDDEN uint64_t trimtab_probe_described;

/* The program's, for HOOK_VALUE. */
volatile uint64_t trimtab_probe_value;

#include "recording.h"
#include "events.h"
#include "threads.h"
#include "calls.h"
#include "overhead.h"
#include "stubs.h"
#include "hooks.h"
#include "ends.h"
#include "stacks.h"

void trimtab_probe_turn_on(void)
{
	if (head)
		trimtab_probe_on = 1;
}

void trimtab_probe_turn_off(void)
{
	trimtab_probe_on = 0;
}

/* A child of fork goes on by itself: what its parent counted is not counted twice. All that stubs
 * know stays where it is; only the file behind it is another. */
static void child_begins(void)
{
	unsigned char was_on = trimtab_probe_on;
	uint32_t i, count = kept_count < CHUNKS_KEPT ? kept_count : CHUNKS_KEPT;
	struct header old;

	/* The thread that held it is not in this process. What it guards is whole at any time. */
	unlock();
	if (!head || anonymous)
		return;
	trimtab_probe_on = 0;
	old = *head;
	if (!create_file(1, head)) {
		/* The parent's file must not be touched any more. */
		anonymous = 1;
		mmap(head, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		     0);
	}
	*head = old;
	head->pid = (uint64_t)getpid();
	head->lost = 0;
	head->missed = 0;
	head->ended = 0;
	forget_other_threads();
	head->start_cycles = head->last_cycles = cycles();
	head->start_ns = head->last_ns = nanoseconds();
	for (i = 0; i < count; i++) {
		struct chunk *at = kept[i].at;
		uint64_t bytes = kept[i].bytes, used;
		char *copy;

		if (!at || !kept[i].offset)
			continue;
		copy = malloc(bytes);
		if (!copy)
			continue;
		memcpy(copy, at, bytes);
		if (anonymous || !map_file(kept[i].offset, bytes, at))
			mmap(at, bytes, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
		*at = *(struct chunk *)copy;
		switch (at->kind) {
		case CHUNK_FUNCTIONS:
			memcpy(at, copy, bytes);
			break;
		case CHUNK_TRACE:
			at->used = 0;
			break;
		case CHUNK_CELLS:
			for (used = sizeof(*at); used < sizeof(*at) + at->used;) {
				struct block *block = (struct block *)((char *)at + used);

				*block = *(struct block *)(copy + used);
				used += sizeof(*block) + block->bytes;
			}
			break;
		}
		free(copy);
	}
	/* Slots of edges are empty again. */
	if (self && self != DEAD)
		self->edges_used = 0;
	if (trimtab_probe_hook == HOOK_EVENT)
		count_anew(self == DEAD ? NULL : self);
	trimtab_probe_on = was_on;
}

/* Writes which functions there are, so that a recording can be read by itself. */
static int describe(uint32_t count)
{
	const struct function *all = __start_trimtab_probe_functions;
	uint64_t names = 0;
	struct function_record *records;
	struct chunk *table;
	char *text;
	uint32_t i;

	for (i = 0; i < count; i++)
		names += strlen((const char *)&all[i].name + all[i].name) + 1;
	table = chunk(CHUNK_FUNCTIONS, sizeof(*table) + count * sizeof(*records) + names, count);
	if (!table)
		return -1;
	table->used = count * sizeof(*records) + names;
	records = (struct function_record *)(table + 1);
	text = (char *)(records + count);
	_Static_assert(sizeof(*described) == sizeof(*all), "found by the same offset");
	described = map(count * sizeof(*described));
	if (!described)
		return -1;
	trimtab_probe_described = (uint64_t)described - (uint64_t)all;
	for (i = 0; i < count; i++) {
		const char *name = (const char *)&all[i].name + all[i].name;
		const void *start = (const char *)&all[i].start + all[i].start;

		records[i].start = (uint64_t)start;
		records[i].size = all[i].size;
		records[i].object = object_of(&all[i])->index;
		records[i].cell = all[i].cell;
		records[i].flags = all[i].flags;
		records[i].name_length = (uint32_t)strlen(name);
		records[i].name = (uint32_t)(text - (char *)(records + count));
		memcpy(text, name, records[i].name_length + 1);
		text += records[i].name_length + 1;
		described[i].id = i;
		described[i].size = all[i].size;
		described[i].start = start;
		described[i].name = name;
	}
	return 0;
}

static void toggle(int number)
{
	(void)number;
	trimtab_probe_on = head && !trimtab_probe_on;
}

/* A signal that turns the probes on and off from outside. */
static void listen_for(const char *number)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = toggle;
	action.sa_flags = SA_RESTART;
	sigaction(atoi(number), &action, NULL);
}

static void complain(const char *what)
{
	dprintf(2, "trimtab-probe: %s: nothing is recorded\n", what);
}

static void begin(void)
{
	const struct function *all = __start_trimtab_probe_functions;
	uint32_t count = (uint32_t)(__stop_trimtab_probe_functions - all), i;
	char text[640];
	const char *initial = getenv("TRIMTAB_PROBE");
	const char *number = getenv("TRIMTAB_PROBE_SIGNAL");
	struct object *first;
	ssize_t length;

	if (head)
		return;
	if (!count) {
		complain("no function is instrumented, for reasons that trimtab probe said");
		return;
	}
	/* The signal must not end a program of which nothing can be recorded. */
	if (number)
		listen_for(number);
	first = object_of(&all[0]);
	for (i = 0; i < count; i++) {
		struct object *object = object_of(&all[i]);

		if (object->version != PROBE_VERSION || object->hook != first->hook) {
			complain("objects of the program were instrumented in different ways");
			return;
		}
		if (!object->index)
			object->index = ++objects;
	}
	/* Indices begin with 1. */
	objects++;
	trimtab_probe_hook = first->hook;
	find_vectors();
	find_first_stack();
	if (first->hook == HOOK_EVENT && !choose_event(text, sizeof(text))) {
		complain(text);
		return;
	}
	head = create_file(0, NULL);
	if (!head) {
		snprintf(text, sizeof(text), "cannot write %.200s", file_name);
		complain(text);
		anonymous = 1;
		head = map(PAGE);
		if (!head)
			return;
	}
	memcpy(head->magic, RECORDING_MAGIC, 8);
	head->version = RECORDING_VERSION;
	head->hook = first->hook;
	head->cell_size = first->cell_size;
	head->pid = (uint64_t)getpid();
	head->end = PAGE;
	if (&__ehdr_start && __ehdr_start.e_type == ET_DYN)
		head->bias = (uint64_t)&__ehdr_start;
	length = readlink("/proc/self/exe", head->program, sizeof(head->program) - 1);
	if (length < 0)
		head->program[0] = 0;
	have_key = !pthread_key_create(&key, thread_ends);
	if (first->hook == HOOK_EVENT) {
		snprintf(head->event, sizeof(head->event), "%s", event_chosen.name);
		measure_event();
	} else if (HAS_OVERHEAD(first->hook)) {
		measure_overhead();
	}
	head->start_cycles = cycles();
	head->start_ns = nanoseconds();
	if (describe(count)) {
		complain("there is no memory");
		return;
	}
	pthread_atfork(NULL, NULL, child_begins);
	/* Before destructors: static programs take their unwind information away in one. */
	atexit(end_open_calls);
	at_quick_exit(end_quickly);
	listen_for_ends();
	if (!initial || strcmp(initial, "off"))
		trimtab_probe_on = 1;
}

/* As early as can be, and as late. */
__attribute__((constructor(101))) static void constructor(void)
{
	begin();
}

__attribute__((destructor(101))) static void destructor(void)
{
	end();
}
