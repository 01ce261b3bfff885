/* Loops in all ways in which they end, and jumps by tables. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static unsigned char bytes[4096];
static double numbers[512];

/* Ends where two numbers are equal, which may be beyond the sign or the largest number. */
static NOINLINE uint32_t until_equal(uint32_t from, uint32_t to, uint32_t step)
{
	uint32_t sum = 0, turns = 0;
	if (step == 3)
		do { sum += from ^ turns; from += 3; turns++; } while (from != to && turns < 100000);
	else
		do { sum += from ^ turns; from += 0x100001; turns++; } while (from != to);
	return sum * 31 + turns;
}

static NOINLINE uint32_t down_until_equal(int from, int to)
{
	uint32_t sum = 0;
	do { sum = sum * 7 + from; from -= 4; } while (from != to);
	return sum;
}

/* Unsigned numbers of both halves of their range; the sum may wrap. */
static NOINLINE uint32_t while_below(uint32_t from, uint32_t to)
{
	uint32_t turns = 0, sum = 0;
	do { sum = sum * 5 + from; from += 0x10003; turns++; } while (from < to && turns < 200000);
	return sum + turns;
}

static NOINLINE uint32_t below_bytes(uint32_t from, uint32_t to)
{
	uint32_t sum = 0;
	do { sum = sum * 5 + bytes[from & 4095]; from += 7; } while (from < to);
	return sum * 3 + from;
}

static NOINLINE double nested(int rows, int columns)
{
	double sum = 0, product = 1;
	for (int row = 0; row < rows; row++) {
		double part = row;
		double *at = numbers + row, *end = at + columns;
		for (; at != end; at++) {
			part = part * 0.5 + *at * row;
			*at = part;
			product = product * 0.5 + part;
		}
		sum += part;
	}
	return sum + product;
}

/* More than one result of an inner loop: integers, a float, a double. */
static NOINLINE uint32_t results(int rounds)
{
	uint32_t all = 0;
	for (int round = 0; round < rounds; round++) {
		int low = 255, high = 0;
		float single = round;
		double wide = 1;
		unsigned char *at = bytes + round;
		do {
			int value = *at;
			if (value < low)
				low = value;
			if (value > high)
				high = value;
			single += value * 0.25f;
			wide = wide * 0.75 + value;
			at += 3;
		} while (at < bytes + 2000 + round);
		all = all * 31 + low + high * 256 + (uint32_t)single + (uint32_t)wide + (uint32_t)(at - bytes);
	}
	return all;
}

static NOINLINE int by_table(unsigned value, int other)
{
	switch (value) {
	case 0: return other + 1;
	case 1: return other * 3;
	case 2: other -= 5; /* fall through */
	case 3: return other ^ 0x55;
	case 4: return other << 3;
	case 5: return other / 7;
	case 7: return -other;
	case 9: return other & 0xf0;
	case 10: return other | 0xf;
	default: return 4711;
	}
}

/* What is compared before a call is not what the table is for. */
static NOINLINE unsigned next_number(void)
{
	static unsigned asked;
	return asked++ ? 6 : 1;
}

static NOINLINE int by_table_of_a_call(int other)
{
	unsigned first = next_number();
	if (first >= 3)
		return first;
	switch (next_number()) {
	case 0: return other + 1;
	case 1: return other * 3;
	case 2: return other - 5;
	case 3: return other ^ 0x55;
	case 4: return other << 3;
	case 5: return other / 7;
	case 6: return -other;
	case 7: return other & 0xf0;
	default: __builtin_unreachable();
	}
}

/* Adds many times between two tests: a cycle with two ways in. */
static NOINLINE uint32_t two_ways_in(uint32_t from, uint32_t to, volatile uint32_t *control)
{
	uint32_t turns = 0;
	do {
		if (*control & 1)
			goto behind;
sum:
		from += 0x80000;
behind:
		if (*control & 2 && from != 0x80000000u)
			goto sum;
		turns++;
	} while (from < to && turns < 100000);
	return from * 3 + turns;
}

/* A machine: the jump by a table is in a loop, and its cases go on in it. */
static NOINLINE int machine(const signed char *code)
{
	int stack[16], top = 0, at = 0;
	for (;;) {
		switch (code[at++]) {
		case 0: return stack[top - 1];
		case 1: stack[top++] = code[at++]; break;
		case 2: top--; stack[top - 1] += stack[top]; break;
		case 3: top--; stack[top - 1] *= stack[top]; break;
		case 4: stack[top] = stack[top - 1]; top++; break;
		case 5: stack[top - 1]--; break;
		case 6: if (stack[top - 1] > 0) at = code[at]; else at++; break;
		case 7: top--; break;
		default: return -1;
		}
	}
}

int main(void)
{
	for (int i = 0; i < 4096; i++)
		bytes[i] = i * 37 ^ i >> 4;
	for (int i = 0; i < 512; i++)
		numbers[i] = i * 0.375 - 20;
	printf("%08x %08x %08x\n", until_equal(10, 310, 3), until_equal(310, 10, 3), until_equal(1, 3, 3));
	printf("%08x %08x\n", until_equal(0x7ffffff0u, 0x80000011u, 3), until_equal(0xfffffff0u, 0x11, 3));
	printf("%08x %08x\n", until_equal(5, 5 + 2500 * 0x100001u, 1),
	       until_equal(0x80000000u, 0x80000000u + 3000 * 0x100001u, 1));
	printf("%08x %08x\n", down_until_equal(400, -800), down_until_equal(-2147483000, 2147483000));
	printf("%08x %08x\n", while_below(0, 0x7fffffff), while_below(0x7fff0000, 0x80100000));
	printf("%08x %08x\n", while_below(0x80000000u, 0xffffffffu), while_below(0xffff0000u, 0xffffffffu));
	printf("%08x %08x\n", while_below(9, 3), while_below(0x90000000u, 5));
	printf("%08x %08x\n", below_bytes(0, 4000), below_bytes(0x7ffffff0u, 0x80000400u));
	printf("%08x %08x\n", below_bytes(0x7ff00000u, 0x7ff00400u), below_bytes(0xfffffff0u, 0xfffffff9u));
	printf("%.17g %08x\n", nested(200, 300), results(50));
	for (int value = -2; value < 13; value++)
		printf("%d ", by_table(value, 1000 + value));
	volatile uint32_t control = 2;
	printf("\n%d %08x", by_table_of_a_call(1234), two_ways_in(0x7fc00000u, 0x7fe00000u, &control));
	static const signed char code[] = { 1, 1, 1, 10, 4, 7, 5, 6, 4, 7, 1, 6, 1, 7, 3, 2, 0 };
	static const signed char odd[] = { 1, 5, 9 };
	printf("\n%d %d\n", machine(code), machine(odd));
	return 0;
}
