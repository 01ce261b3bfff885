/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* 16-bit samples and tables: sound in four bits a sample, and back (IMA ADPCM). With OUTPUT, a name, both are
 * written to a file, a sample at a time. */
#include "rounds.h"

#define SAMPLES 2000000
static int16_t sound[SAMPLES], again[SAMPLES];
static unsigned char packed[SAMPLES / 2];
static int16_t steps[89];
static const signed char change[8] = { -1, -1, -1, -1, 2, 4, 6, 8 };

static int clamp(int value, int low, int high)
{
	return value < low ? low : value > high ? high : value;
}

struct state { int value, index; };

static int decode(struct state *state, int code)
{
	int step = steps[state->index], change_of = step >> 3;
	if (code & 4)
		change_of += step;
	if (code & 2)
		change_of += step >> 1;
	if (code & 1)
		change_of += step >> 2;
	state->value = clamp(state->value + (code & 8 ? -change_of : change_of), -32768, 32767);
	state->index = clamp(state->index + change[code & 7], 0, 88);
	return state->value;
}

static int encode(struct state *state, int sample)
{
	int step = steps[state->index], distance = sample - state->value, code = 0;
	if (distance < 0) {
		code = 8;
		distance = -distance;
	}
	for (int bit = 4; bit; bit >>= 1, step >>= 1)
		if (distance >= step) {
			code |= bit;
			distance -= step;
		}
	decode(state, code);
	return code;
}

static void write_all(void)
{
#ifdef OUTPUT
	FILE *file = fopen(OUTPUT, "wb");
	if (!file)
		exit(1);
	for (int i = 0; i < SAMPLES / 2; i++)
		putc(packed[i], file);
	for (int i = 0; i < SAMPLES; i++)
		fwrite(&again[i], sizeof again[i], 1, file);
	if (fclose(file))
		exit(2);
#endif
}

static uint32_t kernel(void)
{
	int size = 7;
	for (int i = 0; i < 89; i++, size = size * 11 / 10 + 1)
		steps[i] = clamp(size, 7, 32767);
	int value = 0, speed = 300;
	for (int i = 0; i < SAMPLES; i++) {
		value += speed;
		speed -= value / 50 - (i % 97 - 48);
		sound[i] = clamp(value, -30000, 30000);
	}
	struct state state = { 0, 0 };
	for (int i = 0; i < SAMPLES; i += 2) {
		int low = encode(&state, sound[i]);
		packed[i / 2] = low | encode(&state, sound[i + 1]) << 4;
	}
	state = (struct state){ 0, 0 };
	for (int i = 0; i < SAMPLES; i += 2) {
		again[i] = decode(&state, packed[i / 2] & 15);
		again[i + 1] = decode(&state, packed[i / 2] >> 4);
	}
	write_all();
	return hash(hash(2166136261u, packed, sizeof packed), again, sizeof again);
}
