// SPDX-License-Identifier: GPL-2.0-only
/* Translations that another thread makes stale. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#include "suite.h"

/* Pages that one thread writes elsewhere while another gives them away. */
#define PAGES 64
static volatile unsigned int *pages;
static volatile int over;
static volatile long wrong_values;

static volatile unsigned int *page_of(int number)
{
	return pages + (size_t)number * PAGE / sizeof(*pages);
}

static void *writes(void *data)
{
	unsigned int round = 0;

	(void)data;
	while (!over) {
		round++;
		for (int i = 0; i < PAGES && !over; i++) {
			volatile unsigned int *page = page_of(i);

			*page = round;
			if (*page != round && *page != 0)
				wrong_values++;
		}
	}
	return NULL;
}

/*
 * Moves pages away while the other thread writes them, each to a place of its own. A write through a stale
 * translation lands in the frame that moved: it changes afterwards. No frame is freed meanwhile, so that such
 * writes hurt nobody.
 */
long lost_pages(int rounds)
{
	size_t size = (size_t)rounds * PAGE;
	unsigned int *moved = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned int *values = calloc((size_t)rounds, sizeof(*values));
	int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
	long lost = 0;
	pthread_t thread;

	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (moved == MAP_FAILED || pages == MAP_FAILED || !values ||
	    pthread_create(&thread, NULL, writes, NULL))
		return -1;
	for (int i = 0; i < rounds; i++) {
		char *from = (char *)pages + (size_t)(i % PAGES) * PAGE, *to = (char *)moved + (size_t)i * PAGE;

		usleep(300);
		if (mremap(from, PAGE, PAGE, flags, to) != to)
			return -1;
		values[i] = *(volatile unsigned int *)to;
	}
	usleep(20000);
	for (int i = 0; i < rounds; i++)
		lost += moved[(size_t)i * PAGE / sizeof(*moved)] != values[i];
	/* And each page must still be written where everybody sees it. */
	unsigned int before[PAGES];
	double end = now() + 5;
	int unseen;

	for (int i = 0; i < PAGES; i++)
		before[i] = *page_of(i);
	do {
		usleep(1000);
		unseen = 0;
		for (int i = 0; i < PAGES; i++)
			unseen += *page_of(i) == before[i];
	} while (unseen && now() < end);
	lost += unseen;
	over = 1;
	pthread_join(thread, NULL);
	return lost + wrong_values;
}

int test_stale_translations(void)
{
	return lost_pages(500) != 0;
}
