/* A function far larger than what HotSpot compiles, with loops, a table, and a way back into it. */
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>

#define STEP(n)                                                    \
	case n:                                                    \
		for (int i = 0; i < ((n) & 7) + 2; i++) {            \
			a = a * (2 * (n) + 1) + b;                   \
			b ^= a >> ((n) % 13 + 1);                   \
			c += table[(a + (n)) & 63] - (b & (n));        \
			d = d * 0.5 + (double)(c & 0xff) / ((n) + 1); \
			table[(b ^ (n)) & 63] = c + (uint32_t)d;     \
		}                                                  \
		if ((a ^ c) & 1)                                   \
			x = c % 97;                                \
		else                                               \
			x = b % 61;                                \
		break;
#define FOUR(n) STEP(n) STEP(n + 1) STEP(n + 2) STEP(n + 3)
#define SIXTEEN(n) FOUR(n) FOUR(n + 4) FOUR(n + 8) FOUR(n + 12)

static jmp_buf back;

static void __attribute__((noinline)) leave(int value)
{
	longjmp(back, value);
}

static double __attribute__((noinline)) run(int turns, uint32_t *out)
{
	uint32_t a = 1, b = 2, c = 3, x = 0;
	uint32_t table[64] = { 0 };
	double d = 1;
	volatile int left = 0;
	if (setjmp(back))
		left++;
	for (int turn = left * 10; turn < turns; turn++) {
		switch (x) {
		SIXTEEN(0)
		SIXTEEN(16)
		SIXTEEN(32)
		SIXTEEN(48)
		SIXTEEN(64)
		SIXTEEN(80)
		default:
			x = (a + turn) % 96;
		}
		if (turn == turns / 2 && left < 3)
			leave(1);
	}
	*out = a ^ b ^ c ^ left;
	return d;
}

int main(void)
{
	uint32_t out = 0;
	double d = run(3000, &out);
	printf("%08x %.12g\n", out, d);
	return 0;
}
