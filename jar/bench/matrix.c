/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Doubles in rows: a product of matrices. */
#include "rounds.h"

#define SIDE 400
static double a[SIDE][SIDE], b[SIDE][SIDE], c[SIDE][SIDE];

static uint32_t kernel(void)
{
	for (int i = 0; i < SIDE; i++)
		for (int j = 0; j < SIDE; j++) {
			a[i][j] = i * 0.5 - j;
			b[i][j] = j * 0.25 + i;
			c[i][j] = 0;
		}
	for (int i = 0; i < SIDE; i++)
		for (int k = 0; k < SIDE; k++)
			for (int j = 0; j < SIDE; j++)
				c[i][j] += a[i][k] * b[k][j];
	return hash(2166136261u, c, sizeof c);
}
