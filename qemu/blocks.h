// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The table of all blocks of code that were translated, each once, in the order in which they first
 * were.
 */
#ifndef TRIMTAB_BLOCKS_H
#define TRIMTAB_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

/* One block of code. QEMU holds the address of its counter for as long as the guest runs. */
struct block {
	uint64_t start;
	uint32_t bytes;
	uint32_t instructions;
	uint64_t count;
	/* Of the stream: one more than its number there, and the block that last followed it. */
	uint32_t number;
	struct block *follower;
	/* Where control went from here, the latest first. */
	struct jump *jumps;
};

/* Control went on in a block. */
struct jump {
	struct block *to;
	uint64_t count;
	struct jump *next;
};

/* Blocks are allocated in chunks, which never move. */
#define CHUNK 4096

static struct block **chunks;
static uint32_t chunk_room;
static uint32_t block_count;

/* An open-addressing table: index of a block plus one, or zero. Its size is a power of two. */
static uint32_t *slots;
static uint32_t slot_room;

static struct block *block_at(uint32_t index)
{
	return &chunks[index / CHUNK][index % CHUNK];
}

static uint32_t hash(uint64_t start, uint32_t bytes)
{
	return (uint32_t)(((start ^ ((uint64_t)bytes << 48)) * 0x9e3779b97f4a7c15ull) >> 32);
}

/* The slot that holds this block, or the empty one where it belongs. */
static uint32_t *slot_for(uint64_t start, uint32_t bytes)
{
	uint32_t slot = hash(start, bytes) & (slot_room - 1);

	while (slots[slot] != 0) {
		const struct block *block = block_at(slots[slot] - 1);

		if (block->start == start && block->bytes == bytes)
			break;
		slot = (slot + 1) & (slot_room - 1);
	}
	return &slots[slot];
}

static bool grow_slots(void)
{
	uint32_t room = slot_room ? slot_room * 2 : 1u << 16;
	uint32_t *more = calloc(room, sizeof(*more));

	if (!more)
		return false;
	free(slots);
	slots = more;
	slot_room = room;
	for (uint32_t index = 0; index < block_count; index++) {
		const struct block *block = block_at(index);

		*slot_for(block->start, block->bytes) = index + 1;
	}
	return true;
}

static struct block *add_block(uint64_t start, uint32_t bytes, uint32_t instructions)
{
	struct block *block;

	if (block_count % CHUNK == 0) {
		uint32_t chunk = block_count / CHUNK;

		if (chunk == chunk_room) {
			uint32_t room = chunk_room ? chunk_room * 2 : 64;
			struct block **more = realloc(chunks, room * sizeof(*chunks));

			if (!more)
				return NULL;
			chunks = more;
			chunk_room = room;
		}
		chunks[chunk] = calloc(CHUNK, sizeof(**chunks));
		if (!chunks[chunk])
			return NULL;
	}
	block = block_at(block_count++);
	block->start = start;
	block->bytes = bytes;
	block->instructions = instructions;
	return block;
}

/* The entry of a block, the same one each time it is translated again; NULL without memory. */
static struct block *entry(uint64_t start, uint32_t bytes, uint32_t instructions)
{
	uint32_t *slot;
	struct block *block;

	/* A table that is three quarters full gets slow. */
	if ((uint64_t)block_count * 4 >= (uint64_t)slot_room * 3 && !grow_slots())
		return NULL;
	slot = slot_for(start, bytes);
	if (*slot != 0)
		return block_at(*slot - 1);
	block = add_block(start, bytes, instructions);
	if (block)
		*slot = block_count;
	return block;
}

#endif
