/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What files should hold: of each file its size, and of each block of 512 bytes the versions in it.
 *
 * A write need not begin and end at blocks, so a block is up to three runs of bytes, each of a version. A range that
 * would cut a block in more runs is widened (`fit`) before it is written, punched or truncated.
 */
#ifndef TRIMTAB_RENT_MODEL_H
#define TRIMTAB_RENT_MODEL_H

#include "pattern.h"

#define MOST_RUNS 3

struct block {
	uint32_t version[MOST_RUNS];
	/* Where the second and the third run begin; BLOCK where there is none. */
	uint16_t start[MOST_RUNS - 1];
};

struct runs {
	int count;
	/* A range may cut a run in two. */
	uint32_t version[MOST_RUNS + 2];
	unsigned start[MOST_RUNS + 3];
};

struct file {
	/* Not its name, which another file may get; it is in the words of its blocks. */
	unsigned owner;
	/* Bytes. */
	uint64_t size;
	struct block *blocks;
	/* -1 if it is not open. */
	int open;
	/* Of all bytes that it may ever have; NULL if it is not mapped. */
	unsigned char *map;
};

static inline unsigned run_start(const struct block *block, int run)
{
	return run == 0 ? 0 : run < MOST_RUNS ? block->start[run - 1] : BLOCK;
}

static inline void run_add(struct runs *runs, unsigned from, unsigned to, uint32_t version)
{
	if (from >= to)
		return;
	if (runs->count == 0 || runs->version[runs->count - 1] != version) {
		runs->start[runs->count] = from;
		runs->version[runs->count++] = version;
	}
	runs->start[runs->count] = to;
}

/* The runs of a block after the bytes from `from` to `to` have got a version. */
static inline struct runs runs_after(const struct block *block, unsigned from, unsigned to, uint32_t version)
{
	struct runs runs = {0};

	for (int run = 0; run < MOST_RUNS; run++) {
		unsigned end = run_start(block, run + 1);

		run_add(&runs, run_start(block, run), end < from ? end : from, block->version[run]);
	}
	run_add(&runs, from, to, version);
	for (int run = 0; run < MOST_RUNS; run++) {
		unsigned start = run_start(block, run);

		run_add(&runs, start > to ? start : to, run_start(block, run + 1), block->version[run]);
	}
	return runs;
}

/* Widens a range of a block until the block has few enough runs with it. */
static inline void fit_block(const struct block *block, unsigned *from, unsigned *to, uint32_t version)
{
	while (runs_after(block, *from, *to, version).count > MOST_RUNS) {
		unsigned start = 0, end = BLOCK;

		for (int run = 0; run < MOST_RUNS; run++) {
			if (run_start(block, run) <= *from)
				start = run_start(block, run);
			if (run_start(block, run + 1) >= *to && run_start(block, run + 1) < end)
				end = run_start(block, run + 1);
		}
		if (start < *from)
			*from = start;
		else
			*to = end;
	}
}

/* Widens a range of a file so that each of its blocks has few enough runs after it has got a version. */
static inline void fit(const struct file *file, uint64_t *from, uint64_t *to, uint32_t version)
{
	uint64_t first = *from / BLOCK, last = (*to - 1) / BLOCK;
	unsigned start = *from % BLOCK, end = (unsigned)(*to - last * BLOCK), edge;

	if (first == last) {
		fit_block(&file->blocks[first], &start, &end, version);
	} else {
		edge = BLOCK;
		fit_block(&file->blocks[first], &start, &edge, version);
		edge = 0;
		fit_block(&file->blocks[last], &edge, &end, version);
	}
	*from = first * BLOCK + start;
	*to = last * BLOCK + end;
}

/* Gives a range that fits a version. Does not change the size. */
static inline void assign(struct file *file, uint64_t from, uint64_t to, uint32_t version)
{
	for (uint64_t at = from / BLOCK; at * BLOCK < to; at++) {
		struct block *block = &file->blocks[at];
		unsigned start = at * BLOCK < from ? (unsigned)(from - at * BLOCK) : 0;
		unsigned end = (at + 1) * BLOCK > to ? (unsigned)(to - at * BLOCK) : BLOCK;
		struct runs runs = runs_after(block, start, end, version);

		if (runs.count > MOST_RUNS)
			fail("a range does not fit the model");
		for (int run = 0; run < MOST_RUNS; run++) {
			block->version[run] = run < runs.count ? runs.version[run] : 0;
			if (run > 0)
				block->start[run - 1] = (uint16_t)(run < runs.count ? runs.start[run] : BLOCK);
		}
	}
}

/* The version that a byte should have. */
static inline uint32_t version_at(const struct file *file, uint64_t at)
{
	const struct block *block = &file->blocks[at / BLOCK];
	int run = MOST_RUNS - 1;

	while (run > 0 && run_start(block, run) > at % BLOCK)
		run--;
	return block->version[run];
}

/* What bytes of a file should be. */
static inline void expect(const struct file *file, uint64_t from, size_t length, unsigned char *bytes)
{
	uint64_t words[WORDS_OF_A_BLOCK];

	while (length > 0) {
		const struct block *block = &file->blocks[from / BLOCK];
		unsigned within = from % BLOCK;
		size_t part = BLOCK - within < length ? BLOCK - within : length;

		for (int run = 0; run < MOST_RUNS; run++) {
			unsigned start = run_start(block, run), end = run_start(block, run + 1);

			start = start > within ? start : within;
			end = end < within + part ? end : (unsigned)(within + part);
			if (start >= end)
				continue;
			fill_block(words, (struct content){OWNER_FILE, file->owner, block->version[run]}, from / BLOCK);
			memcpy(bytes + (start - within), (unsigned char *)words + start, end - start);
		}
		from += part;
		bytes += part;
		length -= part;
	}
}

/* A file without bytes; its owner stays. */
static inline void clear(struct file *file, uint64_t most_bytes)
{
	for (uint64_t at = 0; at < most_bytes / BLOCK; at++)
		file->blocks[at] = (struct block){.start = {BLOCK, BLOCK}};
	file->size = 0;
}

#endif
