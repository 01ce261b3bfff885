/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The stb libraries compress a picture as JPEG, and restore it. */
#include "../rounds.h"
/* The same code everywhere, so that all give the same picture. */
#define STBI_NO_SIMD
#define STBI_ONLY_JPEG
#define STB_IMAGE_IMPLEMENTATION
#include "stb_image.h"
#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "stb_image_write.h"

#define WIDTH 1200
#define HEIGHT 800

struct picture {
	unsigned char *bytes;
	int size;
};

static void add(void *to, void *data, int size)
{
	struct picture *picture = to;
	memcpy(picture->bytes + picture->size, data, size);
	picture->size += size;
}

static uint32_t kernel(void)
{
	static unsigned char *in;
	static struct picture small;
	if (!in) {
		in = malloc(WIDTH * HEIGHT * 3);
		small.bytes = malloc(WIDTH * HEIGHT * 3);
		for (int y = 0; y < HEIGHT; y++)
			for (int x = 0; x < WIDTH; x++) {
				unsigned char *at = in + 3 * (y * WIDTH + x);
				at[0] = x * y >> 8;
				at[1] = (x ^ y) & 63 ? x >> 2 : 200;
				at[2] = (x * x + y * y) >> 11;
			}
	}
	small.size = 0;
	if (!stbi_write_jpg_to_func(add, &small, WIDTH, HEIGHT, 3, in, 80))
		exit(1);
	int width, height, channels;
	unsigned char *again = stbi_load_from_memory(small.bytes, small.size, &width, &height, &channels, 3);
	if (!again || width != WIDTH || height != HEIGHT)
		exit(2);
	uint32_t found = hash(2166136261u, again, WIDTH * HEIGHT * 3);
	stbi_image_free(again);
	return found;
}
