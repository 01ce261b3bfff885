/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Hooks of a user's, of the kinds that stubs have inside (KIND 0 to 6) and that they call (above).
 * At the end the entries and exits of each function are written to hooks.txt.
 */
#include <stdio.h>
#include <string.h>

#include "trimtab_probe.h"

#ifndef KIND
#define KIND 0
#endif

#define PLACES 4096

static const struct trimtab_probe_function *known[PLACES];
static uint64_t entered[PLACES], left[PLACES];
uint64_t hooks_seen;
__thread uint64_t hooks_depth;
static __thread uint64_t starts[256];
static uint64_t spent;
static double sum;

#if KIND == 0
/* Static data, by the number of the function. */
#define ENTER known[f->id] = f, entered[f->id]++
#define LEAVE left[f->id]++
#elif KIND == 1
/* Branches, and more than one end. */
#define ENTER                                    \
	if (f->size < 64)                        \
		hooks_seen++;                          \
	else if (f->id & 1)                      \
		hooks_seen += 2;                       \
	known[f->id] = f;                        \
	if (!f->start)                           \
		return;                          \
	entered[f->id]++
#define LEAVE                                    \
	if (f->id >= PLACES)                     \
		return;                          \
	left[f->id]++
#elif KIND == 2
/* The time, and variables of the thread: global and not. */
#define ENTER known[f->id] = f, entered[f->id]++, starts[hooks_depth++ & 255] = time
#define LEAVE left[f->id]++, spent += time - starts[--hooks_depth & 255]
#elif KIND == 3
/* Atomic. */
#define ENTER known[f->id] = f, __atomic_fetch_add(&entered[f->id], 1, __ATOMIC_RELAXED)
#define LEAVE __atomic_fetch_add(&left[f->id], 1, __ATOMIC_SEQ_CST)
#elif KIND == 4
/* A loop, which wants a register or two more. */
#define ENTER                                                                      \
	known[f->id] = f;                                                          \
	for (uint64_t bits = f->size; bits; bits &= bits - 1)                      \
		hooks_seen += bits ^ time;                                               \
	entered[f->id]++
#define LEAVE left[f->id]++
#elif KIND == 5
/* Neither the function nor the time: all are counted together. */
#define ENTER hooks_seen++
#define LEAVE hooks_seen--
#elif KIND == 6
/* Only one of the two. */
#define ENTER known[f->id] = f, entered[f->id]++, left[f->id]++
#elif KIND == 7
/* It calls. */
#define ENTER known[f->id] = f, entered[f->id] += (strlen(f->name) > 1 || f->size)
#define LEAVE left[f->id] += strlen(f->name) < 4096
#elif KIND == 8
/* Vectors. */
#define ENTER known[f->id] = f, entered[f->id]++, sum += (double)time
#define LEAVE left[f->id]++, sum -= (double)time
#elif KIND == 9
/* One inside, and one that is called. */
#define ENTER known[f->id] = f, entered[f->id]++
#define LEAVE left[f->id] += strlen(f->name) < 4096
#endif

#ifdef ENTER
void trimtab_probe_user_enter(const struct trimtab_probe_function *f, uint64_t time)
{
	(void)f;
	(void)time;
	ENTER;
}
#endif

#ifdef LEAVE
void trimtab_probe_user_leave(const struct trimtab_probe_function *f, uint64_t time)
{
	(void)f;
	(void)time;
	LEAVE;
}
#endif

__attribute__((destructor)) static void end(void)
{
	FILE *file = fopen("hooks.txt", "w");
	unsigned i;

	if (!file)
		return;
	for (i = 0; i < PLACES; i++)
		if (known[i])
			fprintf(file, "%s %llu %llu\n", known[i]->name, (unsigned long long)entered[i],
				(unsigned long long)left[i]);
	fprintf(file, "hooks_seen %llu\nhooks_spent %d\nhooks_sum %d\n", (unsigned long long)hooks_seen, spent != 0,
		sum != 0);
	fclose(file);
}
