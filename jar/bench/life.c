/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Neighbours in a grid: the game of life on a torus. */
#include "rounds.h"

#define SIDE 512
static unsigned char now_alive[SIDE][SIDE], next_alive[SIDE][SIDE];

static uint32_t kernel(void)
{
	uint32_t seed = 7;
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++) {
			seed = seed * 1664525 + 1013904223;
			now_alive[y][x] = seed >> 31;
		}
	for (int turn = 0; turn < 60; turn++) {
		for (int y = 0; y < SIDE; y++)
			for (int x = 0; x < SIDE; x++) {
				int neighbours = 0;
				for (int dy = -1; dy <= 1; dy++)
					for (int dx = -1; dx <= 1; dx++)
						neighbours += now_alive[(y + dy) & (SIDE - 1)][(x + dx) & (SIDE - 1)];
				int alive = now_alive[y][x];
				neighbours -= alive;
				next_alive[y][x] = neighbours == 3 || (alive && neighbours == 2);
			}
		memcpy(now_alive, next_alive, sizeof now_alive);
	}
	return hash(2166136261u, now_alive, sizeof now_alive);
}
