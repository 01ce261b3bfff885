/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What functions give back through pointers: integers of 32 and 64 bits and floating-point numbers, computed, loaded, or
 * as others gave them; with ends that give back less than others do. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef int32_t (*words)(int32_t);
typedef int64_t (*longs)(int32_t);
typedef double (*doubles)(int32_t);
typedef float (*floats)(int32_t);
typedef _Complex double (*pairs)(int32_t);
typedef void (*nothings)(int32_t);

#define FAR __attribute__((noinline, noclone, noipa))

static volatile int32_t seen;
static double kept = 0.5;

static FAR int32_t word(int32_t x) { return x * 3 - 1; }
static FAR int64_t wide(int32_t x) { return (int64_t)x * 0x123456789; }
static FAR double real(int32_t x) { return x / 8.0; }
static FAR float small(int32_t x) { return x / 16.0f; }
static FAR void nothing(int32_t x) { seen = x; }

/* An end with an integer only, and one with what a pointer gives. */
static FAR int32_t early_word(int32_t x)
{
	words volatile next = word;
	if (x & 1)
		return -7;
	return next(x) + 1;
}

static FAR int64_t early_wide(int32_t x)
{
	longs volatile next = wide;
	if (x & 1)
		return -7;
	if (x & 2)
		return next(x) | 1;
	return next(x);
}

static FAR double early_real(int32_t x)
{
	doubles volatile next = real;
	if (x & 1)
		return 2.5;
	if (x & 2)
		return next(x);
	return next(x) + kept;
}

/* Loads what nobody needs at its end. */
static FAR double loading(int32_t x)
{
	double result = real(x);
	(void)seen;
	return result;
}

static FAR float early_small(int32_t x)
{
	floats volatile next = small;
	return x & 1 ? 0.25f : next(x);
}

static FAR _Complex double pair(int32_t x)
{
	return x + 1.0i * (x + 1);
}

static FAR _Complex double early_pair(int32_t x)
{
	pairs volatile next = pair;
	return x & 1 ? 3.0i : next(x);
}

/* Gives back nothing, having computed an integer and a floating-point number. */
static FAR void dropping(int32_t x)
{
	nothings volatile next = nothing;
	kept += real(x & 3) - real(x & 3);
	next(x);
}

static words volatile all_words[] = { word, early_word };
static longs volatile all_longs[] = { wide, early_wide };
static doubles volatile all_doubles[] = { real, early_real, loading };
static floats volatile all_floats[] = { small, early_small };
static pairs volatile all_pairs[] = { pair, early_pair };
static nothings volatile all_nothings[] = { nothing, dropping };

/* Passes on what a pointer gives: its own type says what that is. */
static FAR double passed_real(int32_t x) { return all_doubles[x % 3](x); }
static FAR int64_t passed_wide(int32_t x) { return all_longs[x & 1](x); }
static FAR int32_t passed_word(int32_t x) { return all_words[x & 1](x); }

int main(void)
{
	doubles volatile real_again = passed_real;
	longs volatile wide_again = passed_wide;
	words volatile word_again = passed_word;
	double sum = 0;
	uint64_t hash = 1;
	for (int32_t x = 0; x < 2000; x++) {
		for (int i = 0; i < 2; i++) {
			all_nothings[i](x);
			hash = hash * 31 + all_words[i](x);
			hash = hash * 31 + all_longs[i](x);
			sum += all_floats[i](x);
			_Complex double both = all_pairs[i](x);
			sum += __real__ both * 3 + __imag__ both;
		}
		for (int i = 0; i < 3; i++)
			sum += all_doubles[i](x);
		sum += real_again(x) + passed_real(x + 1);
		hash = hash * 31 + wide_again(x) + passed_wide(x + 1);
		hash = hash * 31 + word_again(x) + passed_word(x + 1);
		hash += seen;
	}
	printf("%.17g %016llx\n", sum + kept, (unsigned long long)hash);
	return 0;
}
