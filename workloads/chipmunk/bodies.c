/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Boxes and balls fall into a pit, and lie in heaps there. */
#include <stdio.h>
#include <stdlib.h>

#include "chipmunk/chipmunk.h"

int main(int argc, char **argv)
{
	const int steps = argc > 1 ? atoi(argv[1]) : 10;
	cpSpace *space = cpSpaceNew();
	cpBody *ground = cpSpaceGetStaticBody(space);
	const cpVect corners[] = { { -120, 200 }, { -100, 0 }, { 100, 0 }, { 120, 200 } };
	cpBody *bodies[240];
	cpFloat sum = 0;
	int i;

	cpSpaceSetGravity(space, cpv(0, -100));
	cpSpaceSetIterations(space, 10);
	for (i = 0; i < 3; i++) {
		cpShape *wall = cpSegmentShapeNew(ground, corners[i], corners[i + 1], 1);

		cpShapeSetFriction(wall, 0.7);
		cpSpaceAddShape(space, wall);
	}
	for (i = 0; i < 240; i++) {
		cpFloat moment = i % 2 ? cpMomentForBox(1, 8, 8) : cpMomentForCircle(1, 0, 4, cpvzero);
		cpShape *shape;

		bodies[i] = cpSpaceAddBody(space, cpBodyNew(1, moment));
		cpBodySetPosition(bodies[i], cpv(i % 15 * 11 - 77 + i % 7, 30 + i / 15 * 10));
		shape = i % 2 ? cpBoxShapeNew(bodies[i], 8, 8, 0) :
				cpCircleShapeNew(bodies[i], 4, cpvzero);
		cpShapeSetFriction(shape, 0.6);
		cpSpaceAddShape(space, shape);
	}
	for (i = 0; i < steps; i++)
		cpSpaceStep(space, 1.0 / 60);
	for (i = 0; i < 240; i++)
		sum += cpBodyGetPosition(bodies[i]).y;
	/* All digits: what is rounded in another way ends elsewhere. */
	printf("%.17g\n", sum);
	return 0;
}
