/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* zlib compresses text at level 6 and restores it. */
#include "text.h"
#include "zlib.h"

#define SIZE 4000000

static uint32_t kernel(void)
{
	static unsigned char *in, *small, *again;
	uLong length = compressBound(SIZE), restored = SIZE;
	if (!in) {
		in = text(SIZE);
		small = malloc(length);
		again = malloc(SIZE);
	}
	if (compress2(small, &length, in, SIZE, 6) != Z_OK || uncompress(again, &restored, small, length) != Z_OK)
		exit(1);
	if (restored != SIZE || memcmp(in, again, SIZE))
		exit(2);
	return hash(2166136261u, small, length);
}
