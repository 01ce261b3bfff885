/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Text of a few words that repeat, with some other bytes: what compressors are given. */
#include "../rounds.h"

static unsigned char *text(size_t size)
{
	static const char *const words[] = {
		"the ", "kernel ", "memory ", "page ", "fault ", "of ", "a ", "order ", "layout\n", "function ",
	};
	unsigned char *all = malloc(size);
	uint32_t x = 1;
	size_t at = 0;
	while (at + 16 < size) {
		x = x * 1103515245u + 12345;
		const char *word = words[(x >> 16) % 10];
		size_t length = strlen(word);
		memcpy(all + at, word, length);
		at += length;
		if (((x >> 8) & 15) == 0)
			all[at++] = x >> 24;
	}
	memset(all + at, 0, size - at);
	return all;
}
