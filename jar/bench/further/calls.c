/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A chain of short functions that compute in registers: nearly all that is done is calls. */
#include "../rounds.h"

static uint32_t third(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return (a ^ b >> 3) + c * d;
}

static uint32_t second(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return third(a + 1, b, c, d) ^ third(b, a, d, c + 5);
}

static uint32_t first(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	return second(b, a, c, d + a) + second(c, b + 7, a, d);
}

static uint32_t kernel(void)
{
	uint32_t sum = 0;
	for (uint32_t i = 0; i < 2000000; i++)
		sum = sum * 3 + first(i, sum, i + 1, 7);
	return sum;
}
