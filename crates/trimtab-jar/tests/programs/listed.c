/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Jumps by distances of labels, beside a table of numbers that look like such distances: from any label, they lead to further places
 * before it in the function. */
#include <stdio.h>

static const int steps[] = { -8, -16, -24, -32, 8, 16, 24, 32 };

#define MANY(x) x x x x x x x x x x x x x x x x

__attribute__((noinline)) static int run(int kind, int count)
{
	static const int distances[] = { &&one - &&one, &&two - &&one, &&three - &&one };
	int sum = 0;
	MANY(sum += steps[(sum + kind) & 7] ^ count; MANY(sum = sum * 31 + kind;))
	goto *(&&one + distances[kind]);
one:
	sum += 1;
two:
	sum *= 3;
three:
	return sum;
}

int main(void)
{
	for (int kind = 0; kind < 3; kind++)
		printf("%d\n", run(kind, kind + 5));
	return 0;
}
