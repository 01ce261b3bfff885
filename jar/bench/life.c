/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Neighbours in a grid: the game of life on a torus, as types/Life.java plays it. Cells are bytes, or of the type NUMBER. */
#include "rounds.h"

#ifdef NUMBER
typedef NUMBER cell, number;
#else
typedef unsigned char cell;
typedef int number;
#endif

#define SIDE 512
static cell now_alive[SIDE][SIDE], next_alive[SIDE][SIDE];

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
				number neighbours = 0;
				for (int dy = -1; dy <= 1; dy++)
					for (int dx = -1; dx <= 1; dx++)
						neighbours += now_alive[(y + dy) & (SIDE - 1)][(x + dx) & (SIDE - 1)];
				number alive = now_alive[y][x];
				neighbours -= alive;
				next_alive[y][x] = neighbours == 3 || (alive != 0 && neighbours == 2);
			}
		memcpy(now_alive, next_alive, sizeof now_alive);
	}
	uint32_t result = 2166136261u;
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++)
			result = (result ^ (uint32_t)now_alive[y][x]) * 16777619u;
	return result;
}
