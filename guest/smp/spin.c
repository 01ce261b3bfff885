/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Counts: as many times two instructions as its argument says, in millions.
 */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	long left = argc > 1 ? atol(argv[1]) * 1000000 : 0;

	if (left <= 0) {
		printf("spin: expected a number of millions\n");
		return 2;
	}
	__asm__ volatile("1: dec %0; jnz 1b" : "+r"(left) : : "cc");
	return 0;
}
