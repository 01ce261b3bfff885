/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Making the kernel evict pages of files, so that it keeps copies of them: by asking for it, by needing memory, by
 * reading other files; and evicting inodes. Also reads and evictions that race with a change.
 */
#ifndef TRIMTAB_RENT_EVICT_H
#define TRIMTAB_RENT_EVICT_H

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "change.h"

#ifndef SYS_cachestat
#define SYS_cachestat 451
#endif

/* Has the kernel reclaim pages of a range at once. A page that is dirty stays. */
static inline void page_out(unsigned char *map, uint64_t from, uint64_t to)
{
	from = from / PAGE * PAGE;
	/* Only pages that are mapped are found. */
	madvise(map + from, to - from, MADV_POPULATE_READ);
	if (madvise(map + from, to - from, MADV_PAGEOUT) != 0 && errno == EINVAL)
		count(&me.totals->no_pageout);
}

static inline void reclaim(struct file *file, uint64_t from, size_t length)
{
	length = readable(file, from, length);
	if (length == 0)
		return;
	if (one_in(2))
		sync_file(file);
	/* What is evicted is what was read from a copy a moment ago: if that is wrong, it must not be stored again. */
	for (uint64_t at = from; me.operation % 2 == 0 && at < from + length; at += LARGEST)
		read_mapped(file, at, from + length - at < LARGEST ? from + length - at : LARGEST);
	page_out(mapped(file), from, from + length);
}

/* Takes memory step by step and writes to it, up to so much or until the machine has little left. */
static inline void press(size_t most_mib, long keep_mib)
{
	unsigned char *memory = mmap(NULL, most_mib * MIB, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct content content = {OWNER_ANONYMOUS, me.process, next_version()};
	uint64_t words[2];
	size_t pages = 0;

	if (memory == MAP_FAILED)
		call_failed("mmap of memory", NULL);
	while (pages < most_mib * MIB / PAGE) {
		if (pages % (MIB / PAGE) == 0 && meminfo_kib("MemAvailable") < keep_mib * 1024)
			break;
		words[0] = mixed(first_word(content, pages));
		words[1] = mixed(first_word(content, pages) + 1);
		memcpy(memory + pages * PAGE, words, sizeof(words));
		pages++;
	}
	for (size_t page = 0; page < pages; page++) {
		words[0] = mixed(first_word(content, page));
		words[1] = mixed(first_word(content, page) + 1);
		if (memcmp(memory + page * PAGE, words, sizeof(words)) != 0) {
			error_line("page %zu of anonymous memory does not hold what was written", page);
			break;
		}
	}
	munmap(memory, most_mib * MIB);
}

/* Reads a file that is larger than what is wanted of the others. */
static inline void read_filler(void)
{
	read_whole(&me.filler, LARGEST);
}

static inline void close_everything(void)
{
	close_all();
	close_cold();
}

/* Has the kernel forget inodes that nobody uses, or clean pages, or both. */
static inline void drop_caches(void)
{
	static const char *const words[] = {"2", "2", "3", "1"};

	close_everything();
	if (one_in(2))
		sync();
	if (!tell("/proc/sys/vm/drop_caches", words[below(4)]))
		fail("/proc/sys/vm/drop_caches cannot be written");
	if (one_in(8))
		tell(RENTAL_FOLDER "/drop", "1");
}

/* Asks how many pages of a range are there and how many were evicted: it meets the entries of copies. */
static inline void ask_cache(struct file *file, uint64_t from, size_t length)
{
	struct {
		uint64_t offset, length;
	} range = {from, length};
	uint64_t found[5];
	unsigned char pages[LARGEST / PAGE + 2];

	syscall(SYS_cachestat, opened(file), &range, found, 0);
	mincore(mapped(file) + from / PAGE * PAGE, length, pages);
}

/* ---- Races ---- */

/* A thread that reads a range and has it evicted, again and again, while it changes. What it reads is either. */
static struct {
	bool started;
	sem_t go, done;
	atomic_bool stop;
	/* Read and evict all of it once, and leave it so. */
	bool once;
	int file;
	unsigned char *map;
	uint64_t from, to, random;
	unsigned char buffer[16 * PAGE];
} racer;

static void race_part(uint64_t from, uint64_t to)
{
	if (pread(racer.file, racer.buffer, to - from, (off_t)from) < 0)
		error_line("pread in a race at byte %llu: %s", (unsigned long long)from, strerror(errno));
	else
		page_out(racer.map, from, to);
}

static void race_whole(void)
{
	uint64_t part = sizeof(racer.buffer);

	for (uint64_t at = racer.from; at < racer.to; at += part)
		race_part(at, at + part < racer.to ? at + part : racer.to);
}

static void *race(void *unused)
{
	for (;;) {
		sem_wait(&racer.go);
		if (racer.once)
			race_whole();
		while (!racer.once && !atomic_load(&racer.stop)) {
			uint64_t at = racer.from + random_below(&racer.random, racer.to - racer.from);
			uint64_t to = at + 1 + random_below(&racer.random, sizeof(racer.buffer));

			race_part(at, to < racer.to ? to : racer.to);
		}
		sem_post(&racer.done);
	}
	return unused;
}

static inline void race_begins(struct file *file, uint64_t from, uint64_t to)
{
	pthread_t thread;

	if (!racer.started) {
		sem_init(&racer.go, 0, 0);
		sem_init(&racer.done, 0, 0);
		racer.random = random_seeded(me.process + 77);
		if (pthread_create(&thread, NULL, race, NULL) != 0)
			fail("a thread cannot be started");
		racer.started = true;
	}
	racer.file = opened(file);
	racer.map = mapped(file);
	racer.from = from;
	racer.to = to;
	racer.once = one_in(2);
	atomic_store(&racer.stop, false);
	sem_post(&racer.go);
	/* On one CPU it runs first. */
	sched_yield();
}

static inline void race_ends(void)
{
	atomic_store(&racer.stop, true);
	sem_wait(&racer.done);
}

/* None of its pages stay, and no read brings more than it is asked for: what the racer evicts was all there is. */
static inline void forget(struct file *file)
{
	unmap(file);
	sync_file(file);
	posix_fadvise(opened(file), 0, 0, POSIX_FADV_RANDOM);
	posix_fadvise(opened(file), 0, 0, POSIX_FADV_DONTNEED);
}

/* Changes a range while it is read and evicted. */
static inline void change_in_a_race(struct file *file, uint64_t from, uint64_t to)
{
	uint64_t direct_from = from / PAGE * PAGE, direct_to = (to + PAGE - 1) / PAGE * PAGE;
	uint64_t size = file->size;

	direct_to = direct_to < me.most ? direct_to : me.most;
	if (one_in(2))
		forget(file);
	race_begins(file, direct_from, size < direct_to ? size : direct_to);
	switch (below(8)) {
	case 0:
	case 1:
		write_direct(file, direct_from, direct_to, one_in(2));
		break;
	case 2:
		punch(file, from, to);
		break;
	case 3:
		truncate_to(file, from);
		truncate_to(file, size);
		break;
	case 4:
		write_range(file, from, to);
		sync_file(file);
		break;
	case 5:
		/* What is read is evicted before the reader has it. */
		for (int round = 0; round < 8 && size > direct_from; round++)
			page_out(mapped(file), direct_from, size < direct_to ? size : direct_to);
		break;
	default:
		write_mapped(file, from, to);
		sync_file(file);
	}
	race_ends();
	posix_fadvise(opened(file), 0, 0, POSIX_FADV_NORMAL);
	read_range(file, direct_from, direct_to - direct_from);
	read_mapped(file, direct_from, direct_to - direct_from);
}

#endif
