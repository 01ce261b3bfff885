/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What stands in files, devices and anonymous memory, so that each 8 bytes say whose they are.
 *
 * A block is 512 bytes. Each word of it is a number with an owner, the block's place, the version and the word's
 * place in the block, made to look random by a function that can be undone: from a word that is where it should not
 * be, one learns where it came from. Version 0 is all zeroes.
 */
#ifndef TRIMTAB_RENT_PATTERN_H
#define TRIMTAB_RENT_PATTERN_H

#include "rent.h"

#define BLOCK 512UL
#define WORDS_OF_A_BLOCK (BLOCK / 8)

/* 4 bits; so few values of 16 make it unlikely that other bytes pass for a word. */
enum owner_kind { OWNER_DEVICE = 5, OWNER_FILE = 10, OWNER_ANONYMOUS = 12 };

#define MOST_OWNERS (1UL << 12)
#define MOST_BLOCKS (1UL << 18)
#define MOST_VERSIONS (1UL << 24)

struct content {
	enum owner_kind kind;
	unsigned owner;
	uint32_t version;
};

/* A word as it is told apart again. */
struct origin {
	struct content content;
	uint32_t block;
	unsigned word;
};

#define MIX 0xd6e8feb86659fd93ULL
/* The number by which the product is 1, modulo 2^64. */
#define UNMIX 0xcfee444d8b59a89bULL

static inline uint64_t mixed(uint64_t word)
{
	word ^= word >> 32;
	word *= MIX;
	return word ^ (word >> 32);
}

static inline uint64_t unmixed(uint64_t word)
{
	word ^= word >> 32;
	word *= UNMIX;
	return word ^ (word >> 32);
}

static inline uint64_t first_word(struct content content, uint64_t block)
{
	return (uint64_t)content.kind << 60 | (uint64_t)(content.owner % MOST_OWNERS) << 48 |
	       block % MOST_BLOCKS << 30 | (uint64_t)(content.version % MOST_VERSIONS) << 6;
}

static inline void fill_block(uint64_t *words, struct content content, uint64_t block)
{
	uint64_t first = first_word(content, block);

	if (content.version == 0) {
		memset(words, 0, BLOCK);
		return;
	}
	for (uint64_t word = 0; word < WORDS_OF_A_BLOCK; word++)
		words[word] = mixed(first + word);
}

/* Whether a word at its place in a block is one of ours, and whose. */
static inline bool origin_of(uint64_t word, unsigned place, struct origin *found)
{
	uint64_t plain = unmixed(word);

	found->content.kind = (enum owner_kind)(plain >> 60);
	found->content.owner = plain >> 48 & (MOST_OWNERS - 1);
	found->block = plain >> 30 & (MOST_BLOCKS - 1);
	found->content.version = plain >> 6 & (MOST_VERSIONS - 1);
	found->word = plain & (WORDS_OF_A_BLOCK - 1);
	return found->word == place && found->content.version != 0 &&
	       (found->content.kind == OWNER_DEVICE || found->content.kind == OWNER_FILE ||
		found->content.kind == OWNER_ANONYMOUS);
}

/* Whether two words in a row are of the same block. By chance, that is one in 2^70. */
static inline bool origin_of_two(const uint64_t *words, unsigned place, struct origin *found)
{
	struct origin second;

	return origin_of(words[0], place, found) && origin_of(words[1], place + 1, &second) &&
	       second.content.kind == found->content.kind && second.content.owner == found->content.owner &&
	       second.content.version == found->content.version && second.block == found->block;
}

static inline void describe_origin(const struct origin *it, char *text, size_t size)
{
	if (it->content.kind == OWNER_DEVICE)
		snprintf(text, size, "device %u block %u fill %u", it->content.owner, it->block, it->content.version);
	else if (it->content.kind == OWNER_FILE)
		snprintf(text, size, "file %u block %u version %u", it->content.owner, it->block, it->content.version);
	else
		snprintf(text, size, "anonymous memory of process %u", it->content.owner);
}

/*
 * Says what bytes are, whose first one lies at `offset` of a file or a device: the first word among them that is one
 * of ours, or zeroes, or the bytes themselves. Returns whether it is one of ours.
 */
static inline bool describe_bytes(const unsigned char *bytes, size_t length, uint64_t offset, struct origin *found,
				  char *text, size_t size)
{
	size_t to_word = (8 - offset % 8) % 8;
	bool zeroes = true;
	uint64_t words[2];

	for (size_t at = to_word; at + 8 <= length && at < BLOCK; at += 8) {
		unsigned place = (unsigned)((offset + at) % BLOCK / 8);
		bool two = at + 16 <= length && place + 1 < WORDS_OF_A_BLOCK;

		memcpy(words, bytes + at, two ? 16 : 8);
		/* One word alone, where there is no other. */
		if (two ? origin_of_two(words, place, found) : length < 16 && origin_of(words[0], place, found)) {
			describe_origin(found, text, size);
			return true;
		}
	}
	for (size_t at = 0; at < length && at < BLOCK; at++)
		zeroes &= bytes[at] == 0;
	if (zeroes) {
		snprintf(text, size, "zeroes");
		return false;
	}
	size = size > 48 ? 48 : size;
	snprintf(text, size, "bytes");
	for (size_t at = 0; at < length && at < 8; at++)
		snprintf(text + strlen(text), size - strlen(text), " %02x", bytes[at]);
	return false;
}

#endif
