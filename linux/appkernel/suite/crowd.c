// SPDX-License-Identifier: GPL-2.0-only
/* More threads than CPUs: each gets its turns elsewhere, and Linux's CPU is one of the places where they compute. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <unistd.h>
#include "suite.h"

#define MOST 33
#define TURNS 3
/* A busy machine gives its processors to CPUs of the guest only now and then. */
#define SECONDS 30

static _Atomic int over;

/* How often each was seen on another CPU than before. */
static _Atomic long turns[MOST];

static void *compute(void *given)
{
	intptr_t me = (intptr_t)given;
	unsigned int last = apic_id();

	while (!atomic_load(&over)) {
		unsigned int here = apic_id();

		turns[me] += here != last;
		last = here;
		spin(20000);
	}
	return NULL;
}

static int all_had_turns(int crowd)
{
	for (int i = 0; i < crowd; i++)
		if (turns[i] < TURNS)
			return 0;
	return 1;
}

int test_crowd(void)
{
	int had, crowd = 2 * cpus() + 1;
	pthread_t threads[MOST];
	double began = now();

	if (crowd > MOST)
		crowd = MOST;
	for (intptr_t i = 0; i < crowd; i++)
		if (pthread_create(&threads[i], NULL, compute, (void *)i))
			return 1;
	/* This thread sleeps, and is served beside them. */
	do
		usleep(10000);
	while (!all_had_turns(crowd) && now() - began < SECONDS);
	had = all_had_turns(crowd);
	atomic_store(&over, 1);
	for (int i = 0; i < crowd; i++)
		if (pthread_join(threads[i], NULL))
			return 1;
	return !had;
}
