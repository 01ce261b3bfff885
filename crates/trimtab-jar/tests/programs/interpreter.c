/* An interpreter of 96 instructions in one function, of which its program has each fourth. */
#include <stdint.h>
#include <stdio.h>

#define STEP(n)                                                        \
	case n:                                                        \
		a = a * (2 * (n) + 1) + table[(b + (n)) & 63];         \
		b ^= a >> ((n) % 13 + 1);                              \
		c += table[(a + (n)) & 63] - (b & (n));                \
		if (c & 8)                                             \
			d = d * 0.5 + (double)(c & 0xff) / ((n) + 1);  \
		table[(b ^ (n)) & 63] = c + (uint32_t)d;               \
		break;
#define FOUR(n) STEP(n) STEP(n + 1) STEP(n + 2) STEP(n + 3)
#define SIXTEEN(n) FOUR(n) FOUR(n + 4) FOUR(n + 8) FOUR(n + 12)

static void __attribute__((noipa)) interpret(const uint8_t *code, int turns)
{
	uint32_t a = 1, b = 2, c = 3, table[64] = { 0 };
	double d = 1;
	for (int turn = 0; turn < turns; turn++) {
		switch (code[turn % 960]) {
		SIXTEEN(0)
		SIXTEEN(16)
		SIXTEEN(32)
		SIXTEEN(48)
		SIXTEEN(64)
		SIXTEEN(80)
		}
	}
	printf("%08x %.12g\n", a ^ b ^ c, d);
}

int main(void)
{
	static uint8_t code[960];
	for (int i = 0; i < 960; i++)
		code[i] = i * 52 % 96;
	interpret(code, 200000);
	return 0;
}
