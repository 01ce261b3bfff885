/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Compares the model of files with a simpler one, which has a version for each byte: model SEED.
 */
#include "model.h"

#define BLOCKS 8
#define BYTES (BLOCKS * BLOCK)

static struct block blocks[BLOCKS];
static uint32_t versions[BYTES];
static unsigned char expected[BYTES], found[BYTES];

static void expect_simply(unsigned owner)
{
	uint64_t words[WORDS_OF_A_BLOCK];

	for (uint64_t at = 0; at < BYTES; at++) {
		fill_block(words, (struct content){OWNER_FILE, owner, versions[at]}, at / BLOCK);
		expected[at] = ((unsigned char *)words)[at % BLOCK];
	}
}

int main(int argc, char **argv)
{
	struct file file = {.owner = 5, .blocks = blocks, .open = -1};
	uint64_t random = random_seeded(argc > 1 ? strtoull(argv[1], NULL, 10) : 0);
	struct origin origin;

	clear(&file, BYTES);
	for (uint32_t step = 1; step < 4000; step++) {
		uint64_t from = random_below(&random, BYTES), start;
		uint64_t length = 1 + random_below(&random, random_below(&random, 2) ? 100 : 2000);
		uint64_t to = from + length < BYTES ? from + length : BYTES, end;
		/* Some ranges become zeroes. */
		uint32_t version = random_below(&random, 4) ? step : 0;

		start = from;
		end = to;
		fit(&file, &start, &end, version);
		if (start > from || end < to || start / BLOCK != from / BLOCK || (end - 1) / BLOCK != (to - 1) / BLOCK)
			fail("%llu to %llu became %llu to %llu", (unsigned long long)from, (unsigned long long)to,
			     (unsigned long long)start, (unsigned long long)end);
		assign(&file, start, end, version);
		for (uint64_t at = start; at < end; at++)
			versions[at] = version;
		from = random_below(&random, BYTES);
		length = 1 + random_below(&random, BYTES - from);
		for (uint64_t at = from; at < from + length; at++)
			if (version_at(&file, at) != versions[at])
				fail("byte %llu has another version", (unsigned long long)at);
		expect_simply(file.owner);
		expect(&file, from, length, found + from);
		if (memcmp(found + from, expected + from, length) != 0)
			fail("bytes from %llu differ", (unsigned long long)from);
	}
	/* A word can be told apart again, and one of its bits changed makes another one. */
	for (int turn = 0; turn < 100000; turn++) {
		struct content content = {OWNER_DEVICE, (unsigned)random_below(&random, MOST_OWNERS),
					  1 + (uint32_t)random_below(&random, MOST_VERSIONS - 1)};
		uint64_t block = random_below(&random, MOST_BLOCKS), place = random_below(&random, WORDS_OF_A_BLOCK);

		if (!origin_of(mixed(first_word(content, block) + place), (unsigned)place, &origin) ||
		    origin.content.kind != content.kind || origin.content.owner != content.owner ||
		    origin.content.version != content.version || origin.block != block)
			fail("a word is not told apart");
	}
	return 0;
}
