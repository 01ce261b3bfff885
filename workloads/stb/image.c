/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Draws a picture, writes it as PNG and JPEG into memory, reads both again, and scales. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include "stb_image.h"
#include "stb_image_resize.h"
#include "stb_image_write.h"

struct memory {
	unsigned char *at;
	size_t used;
};

static void keep(void *where, void *data, int size)
{
	struct memory *memory = where;

	memcpy(memory->at + memory->used, data, (size_t)size);
	memory->used += (size_t)size;
}

static unsigned long sum_of(const struct memory *memory, unsigned char *small)
{
	int width, height, parts;
	unsigned char *read = stbi_load_from_memory(memory->at, (int)memory->used, &width, &height,
						    &parts, 3);
	unsigned long sum = 0;

	if (!read || !stbir_resize_uint8(read, width, height, 0, small, 100, 75, 0, 3))
		exit(1);
	for (int i = 0; i < 100 * 75 * 3; i++)
		sum += small[i];
	stbi_image_free(read);
	return sum;
}

int main(int argc, char **argv)
{
	const int width = argc > 1 ? atoi(argv[1]) : 64, height = width * 3 / 4;
	unsigned char *picture = malloc((size_t)width * height * 3), *small = malloc(100 * 75 * 3);
	struct memory memory = { malloc((size_t)width * height * 8 + 65536), 0 };
	unsigned long sum;
	unsigned noise = 1;

	for (int y = 0; y < height; y++)
		for (int x = 0; x < width; x++) {
			unsigned char *pixel = picture + 3 * (y * width + x);

			noise = noise * 1103515245u + 12345u;
			pixel[0] = (unsigned char)(x * 255 / width);
			pixel[1] = (unsigned char)((x * y >> 6) + (noise >> 28));
			pixel[2] = (unsigned char)((x / 16 + y / 16) % 2 * 200 + (noise >> 29));
		}
	stbi_write_png_to_func(keep, &memory, width, height, 3, picture, width * 3);
	sum = sum_of(&memory, small);
	memory.used = 0;
	stbi_write_jpg_to_func(keep, &memory, width, height, 3, picture, 85);
	sum += sum_of(&memory, small);
	printf("%lu\n", sum);
	return 0;
}
