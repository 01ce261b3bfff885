/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "shared.h"
#include <cstdio>

int counter::all;

int main()
{
	long sum = 0;

	for (long i = 0; i < 100; i++)
		sum += guarded(i) + other(i);
	for (long i = 0; i < 10; i++)
		try {
			sum += other(-1);
		} catch (const failure &caught) {
			sum += caught.n;
		}
	std::printf("%ld %d\n", sum, counter::all);
}
