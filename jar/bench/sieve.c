/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Bytes in a row: primes below ten million. */
#include "rounds.h"

#define LIMIT 10000000
static unsigned char composite[LIMIT];

static uint32_t kernel(void)
{
	uint32_t count = 0;
	memset(composite, 0, LIMIT);
	for (int i = 2; i < LIMIT; i++) {
		if (composite[i])
			continue;
		count++;
		for (long long j = (long long)i * i; j < LIMIT; j += i)
			composite[j] = 1;
	}
	return count;
}
