/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* LZ4 compresses text and restores it, eight times. What it finds depends on the size of pointers. */
#include "text.h"
#include "lz4.h"

#define SIZE 4000000

static uint32_t kernel(void)
{
	static unsigned char *in, *small, *again;
	int length = LZ4_compressBound(SIZE), found = 0;
	if (!in) {
		in = text(SIZE);
		small = malloc(length);
		again = malloc(SIZE);
	}
	for (int i = 0; i < 8; i++) {
		found = LZ4_compress_default((char *)in, (char *)small, SIZE, length);
		if (LZ4_decompress_safe((char *)small, (char *)again, found, SIZE) != SIZE)
			exit(1);
		if (memcmp(in, again, SIZE))
			exit(2);
	}
	return hash(2166136261u, again, SIZE);
}
