/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Faults on purpose: a block gets bytes that it should not have, behind the model's back. Each must be found.
 */
#ifndef TRIMTAB_RENT_PLANT_H
#define TRIMTAB_RENT_PLANT_H

#include "change.h"
#include "device.h"

static const char *const planted_faults[] = {"stale", "other", "place", "zero", "bit",
					     "device", "memory", "size", "end", NULL};

static inline bool is_planted_fault(const char *name)
{
	for (int at = 0; planted_faults[at]; at++)
		if (strcmp(planted_faults[at], name) == 0)
			return true;
	return false;
}

/* A block that a write covered whole, of a random file; it makes one if there is none. */
static inline struct file *block_to_spoil(uint64_t *at)
{
	struct file *file = &me.files[below((uint64_t)me.count)];
	uint64_t blocks = file->size / BLOCK;

	for (uint64_t try = 0; try < blocks; try++) {
		*at = below(blocks);
		if (file->blocks[*at].version[0] != 0 && file->blocks[*at].start[0] == BLOCK)
			return file;
	}
	*at = 0;
	write_range(file, 0, BLOCK);
	return file;
}

static inline void plant(const char *fault)
{
	uint64_t at, words[WORDS_OF_A_BLOCK];
	struct file *file = block_to_spoil(&at);
	struct content content = {OWNER_FILE, file->owner, file->blocks[at].version[0]};

	if (strcmp(fault, "size") == 0) {
		if (ftruncate(opened(file), (off_t)file->size + 1) != 0)
			call_failed("ftruncate", file);
		return;
	}
	if (strcmp(fault, "end") == 0) {
		/* After the last byte, in its page. */
		if (file->size % PAGE == 0)
			truncate_to(file, file->size - 1);
		mapped(file)[file->size] = 1;
		read_mapped(file, file->size - 1, 1);
		return;
	}
	if (strcmp(fault, "stale") == 0)
		content.version = content.version > 1 ? content.version - 1 : MOST_VERSIONS - 1;
	else if (strcmp(fault, "other") == 0)
		content.owner ^= 1;
	else if (strcmp(fault, "device") == 0)
		content.kind = OWNER_DEVICE;
	else if (strcmp(fault, "memory") == 0)
		content.kind = OWNER_ANONYMOUS;
	else if (strcmp(fault, "zero") == 0)
		content.version = 0;
	fill_block(words, content, at + (strcmp(fault, "place") == 0));
	if (strcmp(fault, "bit") == 0)
		words[below(WORDS_OF_A_BLOCK)] ^= 1ULL << below(64);
	if (pwrite(opened(file), words, BLOCK, (off_t)(at * BLOCK)) != (ssize_t)BLOCK)
		call_failed("pwrite", file);
}

#endif
