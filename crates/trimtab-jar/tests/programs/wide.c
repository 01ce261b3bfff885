/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Arithmetic of 64-bit numbers, whose halves are in two registers: each operation with random numbers, and with those near the limits
 * of halves; products, sums in memory, and copies of words that lie side by side. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static uint64_t next(void)
{
	static const uint64_t edges[] = { 0, 1, -1, 0x7fffffff, 0x80000000u, 0xffffffffu, 0x100000000u, INT64_MAX, INT64_MIN,
					  0x7fffffff00000000u, 0xffffffff00000000u, 0x80000000ffffffffu };
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % 3 ? state : edges[state / 3 % (sizeof edges / sizeof *edges)];
}

static uint64_t all;

static void note(uint64_t value)
{
	all = (all ^ value) * 0x9e3779b97f4a7c15u;
	all ^= all >> 29;
}

static void end(const char *name)
{
	printf("%s %016llx\n", name, (unsigned long long)all);
}

#define SHIFTS(k) \
	note(x << k); \
	note(x >> k); \
	note((int64_t)x >> k); \
	note(x << k | x >> (64 - k)); \
	note((x << k) + y); \
	note(y - (x >> k)); \
	note((x << k) - ((int64_t)y >> k)); \
	note((x ^ y << k) & (y | x >> k));
#define MANY(k) SHIFTS(k) SHIFTS((k + 1)) SHIFTS((k + 2)) SHIFTS((k + 3)) SHIFTS((k + 4)) SHIFTS((k + 5)) SHIFTS((k + 6))

__attribute__((noinline)) static void shifts(uint64_t x, uint64_t y)
{
	MANY(1) MANY(8) MANY(15) MANY(22) MANY(29) MANY(36) MANY(43) MANY(50) MANY(57)
}

__attribute__((noinline)) static void sums(uint64_t x, uint64_t y, uint64_t z)
{
	uint32_t a = x, b = y;
	int32_t c = x >> 32, d = y;
	note(x + y);
	note(x + y + z);
	note(x - y - z);
	note(x - (y + z));
	note(x + (y - z));
	note(-x);
	note(-x - y);
	note(x + a);
	note(x - a);
	note(a - x);
	note(x + c);
	note(x - c);
	note(c - x);
	note((uint64_t)a + b);
	note((uint64_t)a - b);
	note((int64_t)c + d);
	note((int64_t)c - d);
	note(x + 1);
	note(x - 1);
	note(x + 0x123456789u);
	note(x - 0x7fffffffffffu);
	note(1000 - x);
	note((x & y) + (x | z) + (y ^ z));
	note((x + y < x) + z);
	note((uint32_t)(a + b) < a ? z + 1 : z);
	note(x < y ? x + z : y - z);
	note((int64_t)x < (int64_t)y);
	note(x == y + z);
	note(llabs((int64_t)x) + llabs((int64_t)y));
}

__attribute__((noinline)) static void products(uint64_t x, uint64_t y, uint64_t z)
{
	uint32_t a = x, b = y >> 32;
	int32_t c = x >> 32, d = y;
	note(x * y);
	note(x * y + z);
	note(x * a);
	note(x * c);
	note((uint64_t)a * b);
	note((int64_t)c * d);
	note((int64_t)c * d + z);
	note((uint64_t)a * b + z);
	note(z - (int64_t)c * d);
	note(z - (uint64_t)a * b);
	note((int64_t)c * d * 19 + (int64_t)d * d * 2 - z);
	note((uint64_t)a * b * b);
	note((int64_t)c * d >> 16);
	note((uint64_t)a * b >> 31);
	note(((int64_t)c * d + (1 << 15)) >> 16);
	note(x * 5 + y * 19 - z * 7);
	note(x * 6364136223846793005u + 1442695040888963407u);
	note(((uint64_t)a * b & 0xffffffff) + (z >> 32) * a);
	note((uint32_t)((uint64_t)a * b >> 32) + (uint32_t)x);
	if (y)
		note(x / y + x % y);
}

struct words {
	uint32_t word[8];
	uint64_t wide[4];
};

/* Where the two may be the same memory, or overlap, each word is loaded behind what was stored before. */
__attribute__((noinline)) static void copies(struct words *to, const struct words *from, uint32_t *one, uint32_t *other)
{
	to->wide[0] = from->wide[1];
	to->wide[1] = from->wide[0] + from->wide[2];
	to->wide[2] += from->wide[3];
	to->wide[3] -= to->wide[2];
	to->wide[0] ^= to->wide[1] << 7 | to->wide[1] >> 57;
	one[0] = other[0];
	one[1] = other[1];
	one[3] = other[2];
	one[2] = other[3];
	other[1] = one[2];
	other[2] = one[1];
	*(uint64_t *)(one + 4) = *(uint64_t *)(other + 4) + *(uint64_t *)(other + 6);
	one[5] = other[6];
	one[6] = other[5];
}

__attribute__((noinline)) static struct words copy(const struct words *from)
{
	return *from;
}

__attribute__((noinline)) static uint64_t sum(const int64_t *from, const int32_t *factors, int count)
{
	int64_t total = 0, weighted = 0;
	uint64_t mixed = 1;
	for (int i = 0; i < count; i++) {
		total += from[i];
		weighted += (int64_t)factors[i] * factors[count - 1 - i];
		mixed = (mixed << 5 | mixed >> 59) ^ (uint64_t)from[i];
	}
	return total ^ weighted ^ mixed;
}

static void note_double(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, 8);
	note(bits);
}

static void note_float(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, 4);
	note(bits);
}

/* What the compiler's library computes, and what it is rounded to as a floating-point number. */
__attribute__((noinline)) static void quotients(uint64_t x, uint64_t y)
{
	note_double((double)(int64_t)x);
	note_double((double)x);
	note_float((float)(int64_t)x);
	note_float((float)x);
	note_double((double)(int64_t)(x >> y % 64));
	note_float((float)(int64_t)(x >> y % 64));
	if (!y)
		return;
	note(x / y);
	note(x % y);
	note((x >> 31) / (y >> 33 | 1));
	note((int64_t)x / (int64_t)y);
	note((int64_t)x % (int64_t)y);
	note((int64_t)x / (int32_t)(y | 1));
	note((int64_t)x % (int32_t)(y | 1));
}

int main(int argc, char **argv)
{
	for (int round = 0; round < 3000; round++) {
		uint64_t x = next(), y = next(), z = next();
		shifts(x, y);
		sums(x, y, z);
		products(x, y, z);
		quotients(x, y);
	}
	end("arithmetic");
	if (argc > 1 && !strcmp(argv[1], "zero")) {
		fflush(stdout);
		volatile uint64_t zero = 0;
		note(next() / zero);
	}
	union {
		struct words words[3];
		uint32_t word[48];
	} memory;
	int64_t numbers[32];
	int32_t factors[32];
	for (int round = 0; round < 3000; round++) {
		for (int i = 0; i < 48; i++)
			memory.word[i] = next();
		struct words *to = &memory.words[next() % 3], *from = &memory.words[next() % 3];
		uint32_t *one = memory.word + next() % 20 * 2, *other = memory.word + next() % 20 * 2;
		copies(to, from, one, other);
		copies(&memory.words[0], &memory.words[0], memory.word + 8, memory.word + 10);
		struct words copied = copy(&memory.words[1]);
		note(sum((int64_t *)copied.wide, (int32_t *)copied.word, 4));
		for (int i = 0; i < 48; i++)
			note(memory.word[i]);
		for (int i = 0; i < 32; i++) {
			numbers[i] = next();
			factors[i] = next();
		}
		note(sum(numbers, factors, 32));
	}
	end("memory");
	return 0;
}
