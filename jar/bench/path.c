/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Pointers, short functions, allocation: a shortest path by A* on a grid with walls, as types/Path.java searches it. Costs
 * are of the type NUMBER. */
#include "rounds.h"

#ifndef NUMBER
#define NUMBER int
#endif

#define SIDE 300
struct cell { int x, y, position, done; NUMBER cost, estimate; struct cell *from; };
static unsigned char wall[SIDE][SIDE];
static struct cell *cells[SIDE][SIDE], *heap[SIDE * SIDE];
static int size;

static int before(const struct cell *a, const struct cell *b)
{
	return a->estimate != b->estimate ? a->estimate < b->estimate : a->cost > b->cost;
}

static void place(int at, struct cell *cell)
{
	heap[at] = cell;
	cell->position = at;
}

static void rise(int at)
{
	struct cell *cell = heap[at];
	for (int above; at > 0 && before(cell, heap[above = (at - 1) / 2]); at = above)
		place(at, heap[above]);
	place(at, cell);
}

static struct cell *take(void)
{
	struct cell *first = heap[0], *last = heap[--size];
	int at = 0;
	for (int below; (below = 2 * at + 1) < size; at = below) {
		if (below + 1 < size && before(heap[below + 1], heap[below]))
			below++;
		if (!before(heap[below], last))
			break;
		place(at, heap[below]);
	}
	place(at, last);
	return first;
}

static void reach(struct cell *from, int x, int y, NUMBER cost)
{
	if (x < 0 || y < 0 || x >= SIDE || y >= SIDE || wall[y][x])
		return;
	struct cell *cell = cells[y][x];
	if (!cell) {
		cell = cells[y][x] = malloc(sizeof *cell);
		*cell = (struct cell){ x, y, -1, 0, 30000, 0, NULL };
	}
	if (cell->done || cost >= cell->cost)
		return;
	cell->cost = cost;
	cell->estimate = cost + abs(SIDE - 1 - x) + abs(SIDE - 1 - y);
	cell->from = from;
	if (cell->position < 0)
		place(size++, cell);
	rise(cell->position);
}

static uint32_t search(uint32_t seed)
{
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++) {
			seed = seed * 1664525 + 1013904223;
			wall[y][x] = (seed >> 24) < 70 && x + y > 2 && x + y < 2 * SIDE - 4;
		}
	size = 0;
	memset(cells, 0, sizeof cells);
	reach(NULL, 0, 0, 0);
	uint32_t result = 0;
	while (size > 0) {
		struct cell *cell = take();
		cell->done = 1;
		if (cell->x == SIDE - 1 && cell->y == SIDE - 1) {
			for (; cell; cell = cell->from)
				result = result * 31 + cell->x + 7 * cell->y;
			break;
		}
		NUMBER next = cell->cost + 1;
		reach(cell, cell->x + 1, cell->y, next);
		reach(cell, cell->x, cell->y + 1, next);
		reach(cell, cell->x - 1, cell->y, next);
		reach(cell, cell->x, cell->y - 1, next);
	}
	for (int y = 0; y < SIDE; y++)
		for (int x = 0; x < SIDE; x++)
			free(cells[y][x]);
	return result;
}

static uint32_t kernel(void)
{
	uint32_t result = 0;
	for (int i = 0; i < 20; i++)
		result = result * 17 + search(i);
	return result;
}
