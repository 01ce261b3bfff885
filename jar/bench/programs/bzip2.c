/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* bzip2 compresses text and restores it. */
#include "text.h"
#include "bzlib.h"

#define SIZE 1500000

static uint32_t kernel(void)
{
	static unsigned char *in, *small, *again;
	unsigned int length = SIZE + SIZE / 50 + 600, restored = SIZE;
	if (!in) {
		in = text(SIZE);
		small = malloc(length);
		again = malloc(SIZE);
	}
	if (BZ2_bzBuffToBuffCompress((char *)small, &length, (char *)in, SIZE, 9, 0, 30) != BZ_OK)
		exit(1);
	if (BZ2_bzBuffToBuffDecompress((char *)again, &restored, (char *)small, length, 0, 0) != BZ_OK)
		exit(2);
	if (restored != SIZE || memcmp(in, again, SIZE))
		exit(3);
	return hash(2166136261u, small, length);
}
