// SPDX-License-Identifier: GPL-2.0-only
/*
 * Changes of page tables, again and again, of pages that three threads write elsewhere meanwhile: they are moved away,
 * given back, replaced, and protected. A write through a stale translation is found where it lands, or is lost.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "suite.h"

#define PAGES 64
#define WRITERS 3

/* Each writer has a word of each page. */
static volatile unsigned int *pages;
static volatile int over;

static volatile unsigned int *word_of(unsigned int page, unsigned int writer)
{
	return pages + page * PAGE / sizeof(*pages) + writer * 16;
}

/* A page may be read-only for a moment: the write is done again. */
static void on_protected(int number)
{
	(void)number;
}

/* Writes all pages, round after round; gives how often one had something else than what was written, or nothing. */
static void *writes(void *data)
{
	unsigned int own = (unsigned int)(size_t)data, round = 0;
	long wrong = 0;

	while (!over) {
		round++;
		for (unsigned int i = 0; i < PAGES && !over; i++) {
			volatile unsigned int *word = word_of(i, own);
			unsigned int found;

			*word = round;
			found = *word;
			wrong += found != round && found != 0;
		}
		/* In an emulator whose CPUs take turns, this ends one: otherwise it lasts until a timer is due. */
		__asm__ volatile("pause");
	}
	return (void *)wrong;
}

/* Pages that were moved away, which nobody writes any more, and what is in them. */
struct moved {
	volatile unsigned int *place;
	unsigned int words[PAGES][WRITERS];
	int is_there[PAGES];
};

static long look(struct moved *moved, unsigned int slot, int is_first)
{
	volatile unsigned int *page = moved->place + slot * PAGE / sizeof(*page);
	long wrong = 0;

	for (unsigned int i = 0; i < WRITERS; i++) {
		if (is_first)
			moved->words[slot][i] = page[i * 16];
		else
			wrong += page[i * 16] != moved->words[slot][i];
	}
	return wrong;
}

/* Moves a page to where another was before, which has not changed since. */
static long move(struct moved *moved, unsigned int page, unsigned int slot)
{
	char *to = (char *)moved->place + (size_t)slot * PAGE;
	long wrong = moved->is_there[slot] ? look(moved, slot, 0) : 0;

	if (mremap((char *)pages + (size_t)page * PAGE, PAGE, PAGE,
		   MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to) != to)
		return wrong + 1;
	moved->is_there[slot] = 1;
	look(moved, slot, 1);
	return wrong;
}

/* What cannot be written stays as it is. */
static long protect(unsigned int page)
{
	char *at = (char *)pages + (size_t)page * PAGE;
	unsigned int before[WRITERS];
	long wrong = mprotect(at, PAGE, PROT_READ) != 0;

	for (unsigned int i = 0; i < WRITERS; i++)
		before[i] = *word_of(page, i);
	spin(200);
	for (unsigned int i = 0; i < WRITERS; i++)
		wrong += *word_of(page, i) != before[i];
	return wrong + (mprotect(at, PAGE, PROT_READ | PROT_WRITE) != 0);
}

static long change(struct moved *moved, unsigned int number)
{
	unsigned int page = number / 4 % PAGES;
	char *at = (char *)pages + (size_t)page * PAGE;

	switch (number % 4) {
	case 0:
		return move(moved, page, number / 4 % PAGES);
	case 1:
		return madvise(at, PAGE, MADV_DONTNEED) != 0;
	case 2:
		return mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != at;
	default:
		return protect(page);
	}
}

/* How many pages of a writer's are not written any more where everybody sees them. */
static long unseen(unsigned int writer)
{
	unsigned int before[PAGES];
	double end = now() + 20;
	long count;

	for (unsigned int i = 0; i < PAGES; i++)
		before[i] = *word_of(i, writer);
	do {
		usleep(1000);
		count = 0;
		for (unsigned int i = 0; i < PAGES; i++)
			count += *word_of(i, writer) == before[i];
	} while (count && now() < end);
	return count;
}

/* So many changes, with threads that write meanwhile; gives how much went wrong. */
long wrong_pages(long count)
{
	struct sigaction action = { .sa_handler = on_protected };
	static struct moved moved;
	pthread_t threads[WRITERS];
	long wrong = 0;

	pages = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	moved.place = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED || moved.place == MAP_FAILED || sigaction(SIGSEGV, &action, NULL))
		return 1;
	for (size_t i = 0; i < WRITERS; i++)
		if (pthread_create(&threads[i], NULL, writes, (void *)i))
			return 1;
	for (long i = 0; i < count; i++) {
		wrong += change(&moved, (unsigned int)i);
		operation_done();
	}
	for (unsigned int i = 0; i < WRITERS; i++)
		wrong += unseen(i);
	over = 1;
	for (unsigned int i = 0; i < WRITERS; i++) {
		void *result;

		wrong += pthread_join(threads[i], &result) || result;
	}
	for (unsigned int i = 0; i < PAGES; i++)
		wrong += moved.is_there[i] ? look(&moved, i, 0) : 0;
	signal(SIGSEGV, SIG_DFL);
	return wrong;
}
