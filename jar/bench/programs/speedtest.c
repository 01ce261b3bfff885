/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SQLite's own speedtest1, in memory, of a fifth of its usual size. */
#include "../rounds.h"

/* It prints how long each of its parts took, which differs from round to round. */
static int quiet(const char *format, ...)
{
	(void)format;
	return 0;
}

/* So that its main() can be called again and again. */
#define SQLITE_SPEEDTEST1_WASM
#define main speedtest
#define printf quiet
#include "test/speedtest1.c"
#undef printf
#undef main

static uint32_t kernel(void)
{
	char *arguments[] = { "speedtest1", "--verify", "--size", "20", ":memory:", NULL };

	speedtest(5, arguments);
	/* Of all rows that queries gave. */
	return hash(2166136261u, g.hash.r, sizeof(g.hash.r));
}
