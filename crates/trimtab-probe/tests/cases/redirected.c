/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions whose callers come to the stubs by themselves, and such where they cannot: in each case
 * every call is seen, and a function has one address. */
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone))

int led_visible(int n);
int (*led_address_elsewhere(void))(int);
int led_call_elsewhere(int n);

/* One byte, and nothing to displace. */
KEEP void led_nothing(void)
{
	__asm__ volatile("");
}

/* Goes back to its first instruction. */
KEEP void led_loop(volatile int *left)
{
	do
		--*left;
	while (*left > 0);
}

static KEEP int led_static(int n)
{
	return n < 2 ? n : led_static(n - 1) + led_static(n - 2) + 1;
}

/* Its address is taken, by an instruction and in data. */
static KEEP int led_taken(int n)
{
	return n ^ 21;
}

struct led_wide;
long led_sum(const struct led_wide *wide, int n);

static int (*volatile const led_table[])(int) = { led_taken, led_visible };

KEEP int led_visible(int n)
{
	return n * 3 + 1;
}

/* Ends with a call. */
KEEP int led_ends(int n)
{
	return led_visible(n + 1);
}

/* Each case is a target of a table of jumps. */
KEEP int led_switch(int n)
{
	int room[4] = { n, n + 1, n + 2, n + 3 };

	switch (n & 7) {
	case 0: return led_call_elsewhere(room[n & 3]);
	case 1: return led_call_elsewhere(room[n & 3] + 11) * 3;
	case 2: return led_call_elsewhere(room[n & 3] + 7) - 5;
	case 3: return led_call_elsewhere(room[n & 3] ^ 3) + 9;
	case 4: return led_call_elsewhere(room[n & 3] + 1) ^ 77;
	case 5: return led_call_elsewhere(room[n & 3] * 5) | 4;
	case 6: return led_call_elsewhere(room[n & 3] - 9) & 1023;
	default: return led_call_elsewhere(-room[n & 3]);
	}
}

/* Arguments on the stack, handed on by a jump. */
KEEP long led_many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return a + b * c - d + e - f + g * h;
}

KEEP long led_hands_on(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return led_many(b, a, d, c, f, e, g, h);
}

struct led_wide {
	long values[24];
};

/* An array on the stack of the caller, read in loops, beside one of its own that callees get. */
KEEP long led_array(struct led_wide wide, int n)
{
	struct led_wide own = { { n } };
	long sum = 0;

	for (int i = 23; i >= n; i--)
		sum = sum * 3 + wide.values[i] - wide.values[i - n];
	for (int i = 0; i < 24 - n; i += 2)
		own.values[i] = wide.values[i + n];
	sum += led_address_elsewhere()((int)led_sum(&own, n));
	for (int i = 0; i < 24; i += n)
		sum ^= led_sum(&wide, i) + own.values[i];
	return sum;
}

KEEP long led_array_handed_on(long a, struct led_wide wide, int n)
{
	wide.values[3] += a;
	return led_array(wide, n);
}

/* Its seldom used part goes back to its first instruction, more often than a stack has room for. */
__asm__(".text\n.globl led_back\n.type led_back,@function\nled_back:\n.Lback:\n.cfi_startproc\n"
	"cmpl $0, %edi\njg led_back.cold\nmovl $7, %eax\nret\n.cfi_endproc\n.size led_back,.-led_back\n"
	".section .text.unlikely,\"ax\",@progbits\n.type led_back.cold,@function\nled_back.cold:\n"
	".cfi_startproc\nsubl $1, %edi\njmp .Lback\n.cfi_endproc\n.size led_back.cold,.-led_back.cold\n"
	".text");
int led_back(int n);

int main(void)
{
	struct led_wide wide;
	int (*volatile taken)(int) = led_taken;
	int (*volatile visible)(int) = led_visible;
	volatile int left = 1000;
	long sum = 0;

	for (int i = 0; i < 1000; i++) {
		led_nothing();
		sum += taken(i) + led_table[0](i) + visible(i) + led_ends(i) + led_switch(i);
		sum += led_hands_on(i, 2, 3, 4, 5, 6, 7, i);
	}
	for (int i = 0; i < 24; i++)
		wide.values[i] = i * i;
	for (int i = 1; i < 24; i++)
		sum += led_array(wide, i) + led_array_handed_on(i, wide, i);
	led_loop(&left);
	sum += led_back(10 * 1000 * 1000);
	sum += led_static(12) + led_call_elsewhere(4);
	printf("%ld %d %d %d\n", sum, taken == led_table[0], visible == led_table[1],
	       visible == led_address_elsewhere());
	return 0;
}
