/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that return in every way, for stubs that have a copy of them inside. */
#include <setjmp.h>
#include <stdio.h>
#include "trimtab_probe.h"

#define KEEP __attribute__((noinline, noclone))

static jmp_buf place;
volatile int zero;

KEEP int copies_leaf(int n)
{
	return n * 7 + zero;
}

/* Returns in many places, with saved registers and without, and loops near and far. */
KEEP int copies_returns(int n)
{
	int sum = 0;

	if (n == 3)
		return 5;
	if (n & 1)
		return copies_leaf(n) + copies_leaf(n + 1);
	for (int i = 0; i < n; i++) {
		for (int j = 0; j < 3; j++)
			sum += copies_leaf(i ^ j) % 11;
		if (sum > 1000)
			return sum;
		if (i == 7)
			sum -= copies_leaf(sum) - copies_leaf(n) * 3 + copies_leaf(i) / 5;
		if (i == 9)
			sum ^= copies_leaf(sum) % 77 + copies_leaf(n - 4) * copies_leaf(i + 2);
	}
	return sum ^ copies_leaf(n);
}

static KEEP int copies_hidden(int n)
{
	return copies_leaf(n) - 4;
}

/* Ends with jumps, on conditions and without, to what others see and to what they do not. */
KEEP int copies_ends(int n)
{
	if (n & 1)
		return copies_hidden(n);
	if (n & 2)
		return copies_returns(n);
	return copies_leaf(n + 1);
}

/* Calls itself, last and not last. */
KEEP long copies_itself(long n)
{
	if (n < 3)
		return n + zero;
	return copies_itself(n - 1) + copies_itself(n - 2);
}

KEEP long copies_odd(long n, long sum);

KEEP long copies_even(long n, long sum)
{
	return n == 0 ? sum + zero : copies_odd(n - 1, sum + 1);
}

KEEP long copies_odd(long n, long sum)
{
	return n == 0 ? sum - zero : copies_even(n - 1, sum + 2);
}

/* Is left by a jump of another kind. */
KEEP int copies_jumps(int n)
{
	if (n % 3 == 0)
		longjmp(place, n + 1);
	return copies_leaf(n);
}

KEEP void copies_nothing(void)
{
	__asm__ volatile("");
}

static int (*volatile ends[])(int) = { copies_leaf, copies_ends };

/* Ends with jumps by way of a register, and of memory. */
KEEP int copies_anywhere(int n, int (*end)(int))
{
	return n & 1 ? end(n + 2) : ends[n >> 1 & 1](n + 1);
}

__attribute__((cold)) KEEP int copies_rare(int n)
{
	if (n == 250)
		longjmp(place, n);
	return copies_leaf(n) + 1;
}

/* gcc puts what is rare elsewhere, from where the function goes on, returns, ends with a jump, or is
 * left: with its frame still there. */
KEEP int copies_splits(int n)
{
	volatile int room[4] = { n, 2, 3, n + 4 };
	int sum = copies_leaf(n);

	if (__builtin_expect(n % 10 == 0, 0))
		sum += copies_rare(n) + room[3];
	for (int i = 0; i < 3; i++)
		sum += copies_leaf(room[i & 1] + i);
	if (__builtin_expect(n % 15 == 0, 0)) {
		room[2] = copies_rare(sum & 127);
		return room[2] * copies_rare(n & 63);
	}
	return sum + room[2];
}

/* Goes where tables say: two, one of them at once, and each in a loop. */
KEEP int copies_switch(unsigned n)
{
	int sum = 0;

	switch (n % 9) {
	case 0: sum = copies_leaf(n); break;
	case 1: sum = 17; break;
	case 2: return copies_ends(n);
	case 3: sum = copies_leaf(3) - 1; /* fall through */
	case 4: sum ^= n; break;
	case 5: copies_nothing(); break;
	case 7: return 5;
	default: sum = zero - 3; break;
	}
	for (unsigned i = 0; i < n; i++)
		switch ((n ^ i) & 7) {
		case 0: sum += copies_leaf(i); break;
		case 1: sum ^= i; break;
		case 2: sum -= copies_leaf(sum); break;
		case 3: sum *= 3; break;
		case 4: return sum ^ copies_leaf(i);
		case 5: sum = -sum; break;
		case 6: sum ^= 0x55; break;
		}
	return sum;
}

#define CASE(n) case n: return copies_leaf(n * 77 + 5) * (n + 3) + zero

/* Has a long table, whose last distances from where they are would lead into what is behind it. */
KEEP int copies_before(unsigned n)
{
	switch (n) {
	CASE(0); CASE(1); CASE(2); CASE(3); CASE(4); CASE(5); CASE(6); CASE(7); CASE(8); CASE(9);
	CASE(10); CASE(11); CASE(12); CASE(13); CASE(14); CASE(15); CASE(16); CASE(17); CASE(18);
	CASE(19); CASE(20); CASE(21); CASE(22); CASE(23); CASE(24); CASE(25); CASE(26); CASE(27);
	CASE(28); CASE(29); CASE(30); CASE(31); CASE(32); CASE(33); CASE(34); CASE(35); CASE(36);
	}
	return 1;
}

KEEP int copies_behind(int n)
{
	int sum = n;

	for (int i = 0; i < n; i++) {
		sum += copies_leaf(i) * 3 - copies_leaf(sum) + copies_leaf(i * 7);
		sum ^= copies_leaf(n + i) % 5 + copies_leaf(n - i) % 3;
	}
	return sum;
}

/* Where its labels are is written down in another way. */
KEEP int copies_labels(int n)
{
	static void *const labels[] = { &&one, &&two, &&three };

	goto *labels[n % 3];
one:	n += copies_leaf(n);
two:	n ^= copies_leaf(n + 1);
three:	return n - copies_leaf(3);
}

/* Probes go off, and on again, while it runs. */
KEEP int copies_switches(int n)
{
	trimtab_probe_turn_off();
	n += copies_leaf(n) + copies_ends(n);
	trimtab_probe_turn_on();
	return n + zero;
}

/* Where their instructions are is written down elsewhere. */
KEEP int copies_marked(int n)
{
	n += zero;
	__asm__ volatile("1: nop\n.pushsection .data.marks,\"aw\"\n.quad 1b\n.popsection");
	return n + 2;
}

KEEP int copies_noted(int n)
{
	n += zero;
	__asm__ volatile("1: nop\n.pushsection .note.stapsdt,\"\",@note\n.balign 4\n.long 8, 8, 3\n"
			 ".asciz \"stapsdt\"\n.quad 1b\n.popsection");
	return n + 3;
}

/* Its room on the stack is larger than the list of a copy's calls can say. */
KEEP int copies_wide(int n)
{
	char room[20 << 20];

	__asm__ volatile("" : "=m"(room));
	return copies_leaf(n) + zero;
}

/* Never returns, and ends with a call. */
KEEP __attribute__((noreturn)) void copies_never(int n)
{
	copies_leaf(n);
	longjmp(place, 2);
}

/* Its callee's address needs no relocation. */
KEEP int copies_near(int n)
{
	return copies_anywhere(n, n & 1 ? copies_hidden : copies_leaf);
}

/* Neither does its constant, in front of another. */
__asm__(".text\n.p2align 2\n.Lconstant: .long 0x90909090\n"
	".globl copies_compares\n.type copies_compares,@function\ncopies_compares:\n.cfi_startproc\n"
	"xorl %eax, %eax\ncmpl $0x90909090, .Lconstant(%rip)\nsete %al\nleal 7(%rax,%rdi), %eax\nret\n"
	".cfi_endproc\n.size copies_compares,.-copies_compares");
int copies_compares(int n);

/* An aligned loop, behind padding, and one that needs none. Both are recognised by their numbers. */
__asm__(".text\n.p2align 4\n.globl copies_round\n.type copies_round,@function\ncopies_round:\n"
	".cfi_startproc\nmovl %edi, %eax\nmovl $1, %edx\nmovl $2, %edx\nxorl %edx, %edx\nmovl $5, %ecx\n.p2align 4\n"
	"1: imull $0x12345, %eax, %eax\nsubl $1, %ecx\njne 1b\nmovl $0x3, %ecx\n"
	"2: imull $0x12347, %eax, %eax\nsubl $1, %ecx\njne 2b\nret\n"
	".cfi_endproc\n.size copies_round,.-copies_round");
int copies_round(int n);

int main(void)
{
	long sum = 0;
	volatile int i;

	for (i = 0; i < 300; i++) {
		sum = sum * 3 + copies_returns(i % 40) + copies_ends(i);
		copies_nothing();
		sum += copies_marked(i) + copies_noted(i);
		sum ^= copies_near(i) - copies_compares(i) + copies_round(i);
		sum ^= copies_anywhere(i, copies_leaf);
		sum += copies_switch(i) - copies_labels(i);
		sum ^= copies_before(i % 40) + copies_behind(i % 7);
		if (!setjmp(place))
			sum += copies_splits(i);
	}
	sum += copies_itself(15) + copies_even(1001, 0) + copies_odd(500, 1);
	for (i = 0; i < 30; i++)
		if (!setjmp(place))
			sum += copies_jumps(i);
	for (i = 0; i < 10; i++)
		sum ^= copies_switches(i);
	if (zero)
		sum += copies_wide(1);
	if (!setjmp(place))
		copies_never(4);
	printf("%ld\n", sum);
	return 0;
}
