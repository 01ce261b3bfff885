/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions whose callers come to the stubs by themselves, and such where they cannot: in each case
 * every call is seen, and a function has one address. */
#include <stdio.h>

#define KEEP __attribute__((noinline, noclone))

int redirected_visible(int n);
int (*redirected_address_elsewhere(void))(int);
int redirected_call_elsewhere(int n);

/* One byte, and nothing to displace. */
KEEP void redirected_nothing(void)
{
	__asm__ volatile("");
}

/* Goes back to its first instruction. */
KEEP void redirected_loop(volatile int *left)
{
	do
		--*left;
	while (*left > 0);
}

static KEEP int redirected_static(int n)
{
	return n < 2 ? n : redirected_static(n - 1) + redirected_static(n - 2) + 1;
}

/* Its address is taken, by an instruction and in data. */
static KEEP int redirected_taken(int n)
{
	return n ^ 21;
}

struct redirected_wide;
long redirected_sum(const struct redirected_wide *wide, int n);

static int (*volatile const redirected_table[])(int) = { redirected_taken, redirected_visible };

KEEP int redirected_visible(int n)
{
	return n * 3 + 1;
}

/* Ends with a call. */
KEEP int redirected_ends(int n)
{
	return redirected_visible(n + 1);
}

/* Each case is a target of a jump table. */
KEEP int redirected_switch(int n)
{
	int room[4] = { n, n + 1, n + 2, n + 3 };

	switch (n & 7) {
	case 0: return redirected_call_elsewhere(room[n & 3]);
	case 1: return redirected_call_elsewhere(room[n & 3] + 11) * 3;
	case 2: return redirected_call_elsewhere(room[n & 3] + 7) - 5;
	case 3: return redirected_call_elsewhere(room[n & 3] ^ 3) + 9;
	case 4: return redirected_call_elsewhere(room[n & 3] + 1) ^ 77;
	case 5: return redirected_call_elsewhere(room[n & 3] * 5) | 4;
	case 6: return redirected_call_elsewhere(room[n & 3] - 9) & 1023;
	default: return redirected_call_elsewhere(-room[n & 3]);
	}
}

/* Arguments on the stack, handed on by a jump. */
KEEP long redirected_many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return a + b * c - d + e - f + g * h;
}

KEEP long redirected_hands_on(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return redirected_many(b, a, d, c, f, e, g, h);
}

struct redirected_wide {
	long values[24];
};

/* An array on the stack of the caller, read in loops, beside one of its own that callees get. */
KEEP long redirected_array(struct redirected_wide wide, int n)
{
	struct redirected_wide own = { { n } };
	long sum = 0;

	for (int i = 23; i >= n; i--)
		sum = sum * 3 + wide.values[i] - wide.values[i - n];
	for (int i = 0; i < 24 - n; i += 2)
		own.values[i] = wide.values[i + n];
	sum += redirected_address_elsewhere()((int)redirected_sum(&own, n));
	for (int i = 0; i < 24; i += n)
		sum ^= redirected_sum(&wide, i) + own.values[i];
	return sum;
}

KEEP long redirected_array_handed_on(long a, struct redirected_wide wide, int n)
{
	wide.values[3] += a;
	return redirected_array(wide, n);
}

/* Its seldom used part goes back to its first instruction, more often than a stack has room for. */
__asm__(".text\n.globl redirected_back\n.type redirected_back,@function\nredirected_back:\n.Lback:\n.cfi_startproc\n"
	"cmpl $0, %edi\njg redirected_back.cold\nmovl $7, %eax\nret\n.cfi_endproc\n.size redirected_back,.-redirected_back\n"
	".section .text.unlikely,\"ax\",@progbits\n.type redirected_back.cold,@function\nredirected_back.cold:\n"
	".cfi_startproc\nsubl $1, %edi\njmp .Lback\n.cfi_endproc\n.size redirected_back.cold,.-redirected_back.cold\n"
	".text");
int redirected_back(int n);

int main(void)
{
	struct redirected_wide wide;
	int (*volatile taken)(int) = redirected_taken;
	int (*volatile visible)(int) = redirected_visible;
	volatile int left = 1000;
	long sum = 0;

	for (int i = 0; i < 1000; i++) {
		redirected_nothing();
		sum += taken(i) + redirected_table[0](i) + visible(i) + redirected_ends(i) + redirected_switch(i);
		sum += redirected_hands_on(i, 2, 3, 4, 5, 6, 7, i);
	}
	for (int i = 0; i < 24; i++)
		wide.values[i] = i * i;
	for (int i = 1; i < 24; i++)
		sum += redirected_array(wide, i) + redirected_array_handed_on(i, wide, i);
	redirected_loop(&left);
	sum += redirected_back(10 * 1000 * 1000);
	sum += redirected_static(12) + redirected_call_elsewhere(4);
	printf("%ld %d %d %d\n", sum, taken == redirected_table[0], visible == redirected_table[1],
	       visible == redirected_address_elsewhere());
	return 0;
}
