/* Two interpreters, each in a function far larger than what HotSpot compiles: one that goes from instruction to
   instruction by labels, and one by a switch with holes in a loop that keeps the address of its table in memory. */
#include <stdint.h>
#include <stdio.h>

#define EACH(ONE, n) ONE(n) ONE(n + 1) ONE(n + 2) ONE(n + 3) ONE(n + 4) ONE(n + 5) ONE(n + 6) ONE(n + 7)
#define ALL(ONE) EACH(ONE, 0) EACH(ONE, 8) EACH(ONE, 16) EACH(ONE, 24) EACH(ONE, 32) EACH(ONE, 40) EACH(ONE, 48)

static uint32_t table[64];
static double d = 1;

static uint32_t __attribute__((noipa)) mix(uint32_t a, uint32_t b)
{
	return a * 31 + (b ^ a >> 7);
}

#define WORK(n)                                                        \
	a = a * (2 * (n) + 1) + table[(b + (n)) & 63];                 \
	b ^= a >> ((n) % 13 + 1);                                      \
	if (a & 16)                                                    \
		c = mix(c, a);                                         \
	c += table[(a + (n)) & 63] - (b & (n));                        \
	d = d * 0.5 + (double)(c & 0xff) / ((n) + 1);                  \
	table[(b ^ (n)) & 63] = c + (uint32_t)d;

static uint32_t __attribute__((noipa)) by_labels(const uint8_t *code)
{
	/* The mask lets through more numbers than there are labels. */
	static const void *const labels[] = {
		&&l0, &&l1, &&l2, &&l3, &&l4, &&l5, &&l6, &&l7, &&l8, &&l9, &&l10, &&l11, &&l12, &&l13, &&l14, &&l15,
		&&l16, &&l17, &&l18, &&l19, &&l20, &&l21, &&l22, &&l23, &&l24, &&l25, &&l26, &&l27, &&l28, &&l29, &&end,
	};
	uint32_t a = 1, b = 2, c = 3;
#define NEXT goto *labels[*code++ & 31]
#define LABEL(n) l##n: WORK(n) if (a & 1) { WORK(n + 7) } if (b & 2) { WORK(n + 11) } NEXT;
	NEXT;
	LABEL(0) LABEL(1) LABEL(2) LABEL(3) LABEL(4) LABEL(5) LABEL(6) LABEL(7) LABEL(8) LABEL(9)
	LABEL(10) LABEL(11) LABEL(12) LABEL(13) LABEL(14) LABEL(15) LABEL(16) LABEL(17) LABEL(18) LABEL(19)
	LABEL(20) LABEL(21) LABEL(22) LABEL(23) LABEL(24) LABEL(25) LABEL(26) LABEL(27) LABEL(28) LABEL(29)
end:
	return a ^ b ^ c;
}

#define CASE(n)                                                        \
	case (n) * 3:                                                  \
		WORK(n)                                                \
		if (c & 4)                                             \
			f = mix(f, g + (n));                           \
		g += h ^ i;                                            \
		break;

static uint32_t __attribute__((noipa)) by_switch(const uint8_t *code)
{
	uint32_t a = 1, b = 2, c = 3, f = 4, g = 5, h = 6, i = 7, turns = 0;
	for (;;) {
		turns++;
		switch (*code++) {
		ALL(CASE)
		case 200:
			return a ^ b ^ c ^ f ^ g ^ turns;
		default:
			h += a;
			i = mix(i, h);
		}
	}
}

int main(void)
{
	static uint8_t code[30001];
	for (int n = 0; n < 30000; n++)
		code[n] = n * 7 % 30;
	code[30000] = 30;
	printf("%08x", by_labels(code));
	for (int n = 0; n < 30000; n++)
		code[n] = n * 11 % 199;
	code[30000] = 200;
	printf(" %08x %.12g\n", by_switch(code), d);
	return 0;
}
