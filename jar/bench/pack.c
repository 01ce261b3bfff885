/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Unaligned words and copies: matches in a window by a hash table, and back (in the manner of LZ77). */
#include "rounds.h"

#define SIZE 4000000
static unsigned char text[SIZE], small[SIZE * 2], again[SIZE];
static uint32_t table[1 << 14];

static uint32_t word(const unsigned char *at)
{
	uint32_t value;
	memcpy(&value, at, 4);
	return value;
}

static unsigned char *length(unsigned char *out, size_t value)
{
	for (; value >= 255; value -= 255)
		*out++ = 255;
	*out++ = value;
	return out;
}

static size_t compress(void)
{
	const unsigned char *in = text, *start = text, *end = text + SIZE - 16;
	unsigned char *out = small;
	memset(table, 0, sizeof table);
	while (in < end) {
		uint32_t *slot = &table[word(in) * 2654435761u >> 18];
		const unsigned char *match = text + *slot;
		*slot = in - text;
		if (match >= in || in - match > 65535 || word(match) != word(in)) {
			in += 1 + ((in - start) >> 6);
			continue;
		}
		size_t same = 4;
		while (in + same < end && in[same] == match[same])
			same++;
		size_t plain = in - start;
		out = length(out, plain);
		memcpy(out, start, plain);
		out += plain;
		uint16_t back = in - match;
		memcpy(out, &back, 2);
		out = length(out + 2, same);
		in += same;
		start = in;
	}
	size_t plain = text + SIZE - start;
	out = length(out, plain);
	memcpy(out, start, plain);
	return out + plain - small;
}

static size_t read_length(const unsigned char **in)
{
	size_t value = 0;
	while (**in == 255)
		value += *(*in)++;
	return value + *(*in)++;
}

static void expand(void)
{
	const unsigned char *in = small;
	unsigned char *out = again, *end = again + SIZE;
	for (;;) {
		size_t plain = read_length(&in);
		memcpy(out, in, plain);
		in += plain;
		out += plain;
		if (out >= end)
			break;
		uint16_t back;
		memcpy(&back, in, 2);
		in += 2;
		size_t same = read_length(&in);
		for (const unsigned char *from = out - back; same; same--)
			*out++ = *from++;
	}
}

static uint32_t kernel(void)
{
	uint32_t seed = 1;
	for (int i = 0; i < SIZE; i++) {
		seed = seed * 1664525 + 1013904223;
		text[i] = i > 3000 && (seed >> 28) > 1 ? text[i - 1 - (seed >> 20 & 0x3ff & -(i & 64))] : "etaoin shr"[(seed >> 24) % 10];
	}
	size_t size = compress();
	expand();
	return hash(size, again, SIZE) + memcmp(text, again, SIZE);
}
