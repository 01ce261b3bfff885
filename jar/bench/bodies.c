/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Floating-point arithmetic with roots: planets that attract each other. */
#include <math.h>
#include "rounds.h"

struct body { double place[3], speed[3], mass; };
#define COUNT 6
static struct body bodies[COUNT];

static uint32_t kernel(void)
{
	for (int i = 0; i < COUNT; i++)
		for (int k = 0; k < 3; k++) {
			bodies[i].place[k] = (i + 1) * (k + 1.5) * (i & 1 ? 1 : -1);
			bodies[i].speed[k] = 0.01 * (k - i);
			bodies[i].mass = i ? 0.1 / i : 40;
		}
	for (int step = 0; step < 200000; step++) {
		for (int i = 0; i < COUNT; i++)
			for (int j = i + 1; j < COUNT; j++) {
				struct body *a = &bodies[i], *b = &bodies[j];
				double d[3], square = 0.01;
				for (int k = 0; k < 3; k++) {
					d[k] = a->place[k] - b->place[k];
					square += d[k] * d[k];
				}
				double pull = 0.001 / (square * sqrt(square));
				for (int k = 0; k < 3; k++) {
					a->speed[k] -= d[k] * b->mass * pull;
					b->speed[k] += d[k] * a->mass * pull;
				}
			}
		for (int i = 0; i < COUNT; i++)
			for (int k = 0; k < 3; k++)
				bodies[i].place[k] += 0.001 * bodies[i].speed[k];
	}
	return hash(2166136261u, bodies, sizeof bodies);
}
