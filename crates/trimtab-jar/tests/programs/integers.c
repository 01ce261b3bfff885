/* Arithmetic of integers: wide products, quotients, shifts, bit fields, comparisons. */
#include <stdio.h>
#include <stdint.h>

static uint32_t state = 12345;

static uint32_t next(void)
{
	state ^= state << 13;
	state ^= state >> 17;
	state ^= state << 5;
	return state;
}

struct bits {
	unsigned a : 3;
	signed b : 7;
	unsigned c : 22;
};

static uint32_t rotate(uint32_t x, int by)
{
	return x << by | x >> (32 - by);
}

int main(void)
{
	uint64_t sum = 0;
	for (int i = 0; i < 20000; i++) {
		int32_t a = next(), b = next() >> (next() & 31);
		uint32_t ua = a, ub = b;
		int64_t wide = (int64_t)a * b;
		uint64_t uwide = (uint64_t)ua * ub;
		sum = sum * 31 + wide + (uwide >> 7);
		if (b != 0 && !(a == INT32_MIN && b == -1)) {
			sum += a / b + a % b * 3;
			sum ^= ua / ub + (uint64_t)(ua % ub) * 5;
			sum += (uint64_t)wide / ub + (wide / (b | 1)) % 77;
		}
		sum += (a < b) + 2 * (ua < ub) + 4 * (a < -17) + 8 * (ua < 1000) + 16 * (a <= b);
		sum ^= (uint64_t)(a >> (b & 31)) + (ua >> (ub & 31)) + (ua << (ub & 31));
		sum += rotate(ua, (b & 30) + 1) ^ rotate(ub, 7);
		sum += (int8_t)a + (int16_t)b + (uint8_t)b + (uint16_t)a;
		sum += __builtin_clz(ua | 1) + __builtin_ctz(ub | 0x80000000u) + __builtin_popcount(ua);
		sum ^= __builtin_bswap32(ua) + __builtin_bswap16(ub);
		struct bits bits = { .a = a, .b = b, .c = ua >> 3 };
		bits.b += 5;
		sum += bits.a + bits.b + bits.c;
		sum += a > 100 ? b : a;
		sum += uwide << (b & 63) ^ uwide >> (a & 63) ^ wide >> (b & 63);
	}
	printf("%016llx\n", (unsigned long long)sum);
	return (int)(sum & 63);
}
