/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Factors a matrix into a lower and an upper triangular one, in blocks of 16 by 16, with threads:
 * lu THREADS SIZE.
 *
 * The matrix has a heavy diagonal, so that no rows are swapped. Block (i, j) belongs to the thread
 * (i + j * blocks) mod THREADS. In each step, one thread factors the block on the diagonal, then the blocks
 * below and right of it are solved, then all that remain are updated. Then L times U times a vector must be
 * the matrix times this vector.
 */
#include "threads.h"

#define SIDE 16

static long blocks;
/* A block is in one piece: element (r, c) of block (i, j) is at `matrix[i * blocks + j][r][c]`. */
static double (*matrix)[SIDE][SIDE];
static double (*original)[SIDE][SIDE];
static double *vector, *upper;

static bool is_mine(int me, long row, long column)
{
	return (row + column * blocks) % threads == me;
}

static void factor(double (*a)[SIDE])
{
	for (int k = 0; k < SIDE; k++)
		for (int row = k + 1; row < SIDE; row++) {
			a[row][k] /= a[k][k];
			for (int column = k + 1; column < SIDE; column++)
				a[row][column] -= a[row][k] * a[k][column];
		}
}

/* A block right of the diagonal one: the inverse of its L from the left. */
static void solve_right(double (*diagonal)[SIDE], double (*a)[SIDE])
{
	for (int k = 0; k < SIDE; k++)
		for (int row = k + 1; row < SIDE; row++)
			for (int column = 0; column < SIDE; column++)
				a[row][column] -= diagonal[row][k] * a[k][column];
}

/* A block below the diagonal one: the inverse of its U from the right. */
static void solve_below(double (*diagonal)[SIDE], double (*a)[SIDE])
{
	for (int row = 0; row < SIDE; row++)
		for (int column = 0; column < SIDE; column++) {
			double sum = a[row][column];

			for (int k = 0; k < column; k++)
				sum -= a[row][k] * diagonal[k][column];
			a[row][column] = sum / diagonal[column][column];
		}
}

static void update(double (*below)[SIDE], double (*right)[SIDE], double (*a)[SIDE])
{
	for (int row = 0; row < SIDE; row++)
		for (int k = 0; k < SIDE; k++) {
			double by = below[row][k];

			for (int column = 0; column < SIDE; column++)
				a[row][column] -= by * right[k][column];
		}
}

static void fill(long row, long column)
{
	uint64_t state = (uint64_t)(row * blocks + column + 1) * 0x9e3779b97f4a7c15ULL;
	double (*block)[SIDE] = matrix[row * blocks + column];

	for (int r = 0; r < SIDE; r++)
		for (int c = 0; c < SIDE; c++) {
			bool diagonal = row == column && r == c;

			block[r][c] = random_share(&state) + (diagonal ? (double)(blocks * SIDE) : 0);
			original[row * blocks + column][r][c] = block[r][c];
		}
}

static void step(int me, long k)
{
	double (*diagonal)[SIDE] = matrix[k * blocks + k];

	if (is_mine(me, k, k))
		factor(diagonal);
	wait_for_all();
	for (long other = k + 1; other < blocks; other++) {
		if (is_mine(me, k, other))
			solve_right(diagonal, matrix[k * blocks + other]);
		if (is_mine(me, other, k))
			solve_below(diagonal, matrix[other * blocks + k]);
	}
	wait_for_all();
	for (long row = k + 1; row < blocks; row++)
		for (long column = k + 1; column < blocks; column++)
			if (is_mine(me, row, column))
				update(matrix[row * blocks + k], matrix[k * blocks + column],
				       matrix[row * blocks + column]);
	wait_for_all();
}

/* Element (row, column) of one of the matrices. */
static double at(double (*of)[SIDE][SIDE], long row, long column)
{
	return of[row / SIDE * blocks + column / SIDE][row % SIDE][column % SIDE];
}

/* L times U times `vector` must be the matrix times it; each thread looks at some of the rows. */
static void check(int me)
{
	long size = blocks * SIDE, begin = part(size, me), end = part(size, me + 1);

	for (long row = begin; row < end; row++)
		for (long column = row; column < size; column++)
			upper[row] += at(matrix, row, column) * vector[column];
	wait_for_all();
	for (long row = begin; row < end; row++) {
		double apart = upper[row];

		for (long column = 0; column < row; column++)
			apart += at(matrix, row, column) * upper[column];
		for (long column = 0; column < size; column++)
			apart -= at(original, row, column) * vector[column];
		/* Products of up to `size` terms of size `size`. */
		if (!(apart * apart < 1e-24 * (double)(size * size) * (double)(size * size)))
			fail("lu: the product of the factors is not the matrix");
	}
}

static void *work(void *number)
{
	int me = (int)(intptr_t)number;
	long size = blocks * SIDE;
	uint64_t state = 0x9e3779b97f4a7c15ULL * (uint64_t)(me + 1);

	for (long row = part(size, me); row < part(size, me + 1); row++)
		vector[row] = random_share(&state);
	for (long row = 0; row < blocks; row++)
		for (long column = 0; column < blocks; column++)
			if (is_mine(me, row, column))
				fill(row, column);
	wait_for_all();
	for (long k = 0; k < blocks; k++)
		step(me, k);
	check(me);
	return NULL;
}

int main(int argc, char **argv)
{
	(void)argc;
	threads = (int)argument(argv, 1, 1, MOST_THREADS);
	blocks = argument(argv, 2, SIDE, 8192) / SIDE;
	matrix = memory((size_t)(blocks * blocks), sizeof(*matrix));
	original = memory((size_t)(blocks * blocks), sizeof(*original));
	vector = memory((size_t)(blocks * SIDE), sizeof(*vector));
	upper = memory((size_t)(blocks * SIDE), sizeof(*upper));
	on_all(work);
	return 0;
}
