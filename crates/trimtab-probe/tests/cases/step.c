/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* After every single instruction the stack is unwound: it must lead to main, in the stubs and the
 * run time as everywhere else. On x86-64 each return must also go where the last call says, as a shadow
 * stack wants it, but in programs with THUNKS, whose returns and jumps go elsewhere. There the processor's trap flag stops it at each instruction. On AArch64 a program
 * cannot do that to itself: a breakpoint goes from each instruction to the one that runs next. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unwind.h>

#define KEEP __attribute__((noinline))
#ifndef THUNKS
#define THUNKS 0
#endif

#ifdef __x86_64__
#define PLACE(machine) ((void *)(machine)->gregs[REG_RIP])
#else
#define PLACE(machine) ((void *)(machine)->pc)
static int step_arrives(mcontext_t *machine);
static void step_goes_on(const mcontext_t *machine);
#endif

static volatile unsigned long steps, lost;
static void *lost_at;
/* Returns that a shadow stack would be in the way of. */
static volatile unsigned long returns, strays;
static void *stray_at;
/* Where main's own instructions begin; its symbol may lead to a stub. */
static const void *main_body;

static KEEP const void *step_caller(void)
{
	return _Unwind_FindEnclosingFunction(__builtin_return_address(0));
}

struct walk {
	int frames;
	int found;
};

static _Unwind_Reason_Code step_frame(struct _Unwind_Context *context, void *argument)
{
	struct walk *walk = argument;
	const void *start = _Unwind_FindEnclosingFunction((void *)_Unwind_GetIP(context));

	walk->frames++;
	if (start && start == main_body) {
		walk->found = 1;
		return _URC_END_OF_STACK;
	}
	return walk->frames > 100 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

#ifdef __x86_64__
/* What a shadow stack would hold: where calls return to. */
static uint64_t step_shadow[256];
static int step_depth, step_was_call;

/* Looks at the instruction that runs next: it must not return but to behind the last call. */
static void step_check(const mcontext_t *machine)
{
	const uint8_t *code = (const uint8_t *)machine->gregs[REG_RIP];
	const uint64_t *stack = (const uint64_t *)machine->gregs[REG_RSP];

	if (step_was_call && step_depth < 256)
		step_shadow[step_depth++] = *stack;
	while ((*code & 0xf0) == 0x40 || *code == 0xf2 || *code == 0xf3 || *code == 0x3e || *code == 0x66)
		code++;
	step_was_call = *code == 0xe8 || (*code == 0xff && (code[1] >> 3 & 7) == 2);
	if (*code != 0xc3 && *code != 0xc2)
		return;
	returns++;
	if (!THUNKS && (!step_depth || step_shadow[step_depth - 1] != *stack) && !strays++)
		stray_at = PLACE(machine);
	step_depth -= step_depth > 0;
}
#endif

static void step_trap(int number, siginfo_t *info, void *context)
{
	struct walk walk = { 0, 0 };
	ucontext_t *machine = context;

	(void)number;
	(void)info;
#ifdef __aarch64__
	if (!step_arrives(&machine->uc_mcontext))
		return;
#endif
	steps++;
#ifdef __x86_64__
	step_check(&machine->uc_mcontext);
#endif
	_Unwind_Backtrace(step_frame, &walk);
	if (!walk.found && !lost++)
		lost_at = PLACE(&machine->uc_mcontext);
#ifdef __aarch64__
	step_goes_on(&machine->uc_mcontext);
#endif
}

#ifdef __x86_64__
/* What runs first is not seen: it must be no call. */
static inline __attribute__((always_inline)) void step_on(void)
{
	__asm__ volatile("pushf; orl $0x100, (%%rsp); popf; nop; nop" ::: "cc", "memory");
}

static inline __attribute__((always_inline)) void step_off(void)
{
	__asm__ volatile("pushf; andl $~0x100, (%%rsp); popf" ::: "cc", "memory");
}
#else
/* brk #0 steps, #1 begins and #2 ends. */
#define BREAK 0xd4200000u
#define BREAK_OFF 0xd4200040u

extern const char __executable_start[], etext[];
/* What stood where a breakpoint is now. */
static uint32_t step_word;

static void step_put(uint64_t at, uint32_t word)
{
	*(volatile uint32_t *)at = word;
	__builtin___clear_cache((char *)at, (char *)at + 4);
}

/* Takes the breakpoint away. Says whether this is an instruction to look at. */
static int step_arrives(mcontext_t *machine)
{
	uint32_t found = *(const uint32_t *)machine->pc;

	if (found == BREAK)
		step_put(machine->pc, step_word);
	else
		machine->pc += 4;
	return found != BREAK_OFF;
}

static int64_t step_signed(uint32_t word, int low, int bits)
{
	return (int64_t)(int32_t)(word << (32 - low - bits)) >> (32 - bits);
}

static int step_holds(uint32_t condition, uint64_t flags)
{
	int n = flags >> 31 & 1, z = flags >> 30 & 1, c = flags >> 29 & 1, v = flags >> 28 & 1;
	int of_pair[] = { z, c, n, v, c && !z, n == v, n == v && !z, 1 };

	return of_pair[condition >> 1] ^ (condition & 1 && condition != 15);
}

/* Whether it is the linker's code for calls into other files, which has no unwind information. */
static int step_is_far(uint64_t at)
{
	const uint32_t *word = (const uint32_t *)at;

	return at < (uint64_t)__executable_start || at >= (uint64_t)etext ||
	       ((word[0] & 0x9f00001f) == 0x90000010 && (word[1] & 0xffc003ff) == 0xf9400211);
}

/* Where the instruction leads. */
static uint64_t step_next(const mcontext_t *machine)
{
	uint64_t pc = machine->pc, next = pc + 4;
	uint32_t word = *(const uint32_t *)pc;
	uint64_t value = machine->regs[word & 31];

	if ((word & 31) == 31)
		value = 0;
	if ((word & 0x7c000000) == 0x14000000) {
		next = pc + step_signed(word, 0, 26) * 4;
	} else if ((word & 0xff000010) == 0x54000000) {
		if (step_holds(word & 15, machine->pstate))
			next = pc + step_signed(word, 5, 19) * 4;
	} else if ((word & 0x7e000000) == 0x34000000) {
		if (!(word >> 31))
			value = (uint32_t)value;
		if (!value == !(word >> 24 & 1))
			next = pc + step_signed(word, 5, 19) * 4;
	} else if ((word & 0x7e000000) == 0x36000000) {
		if ((value >> (word >> 26 & 32 | word >> 19 & 31) & 1) == (word >> 24 & 1))
			next = pc + step_signed(word, 5, 14) * 4;
	} else if ((word & 0xff9ffc1f) == 0xd61f0000) {
		next = machine->regs[word >> 5 & 31];
	} else if ((word & 0x3fe00000) == 0x08400000) {
		/* Exclusive access until it is stored, and what tries that again. */
		while ((*(const uint32_t *)next & 0x3fe00000) != 0x08000000)
			next += 4;
		next += 8;
	}
	if (next == pc + 4 || !step_is_far(next))
		return next;
	/* Where it comes back to: behind a call, `bl` or `blr`, or to the caller. */
	if ((word & 0xfc000000) == 0x94000000 || (word & 0xfffffc1f) == 0xd63f0000)
		return pc + 4;
	return machine->regs[30];
}

static void step_goes_on(const mcontext_t *machine)
{
	uint64_t next = *(const uint32_t *)machine->pc == BREAK_OFF ? 0 : step_next(machine);

	if (!next || *(const uint32_t *)next == BREAK_OFF)
		return;
	step_word = *(const uint32_t *)next;
	step_put(next, BREAK);
}

static inline __attribute__((always_inline)) void step_on(void)
{
	uint64_t start = (uint64_t)__executable_start & -65536ul;

	mprotect((void *)start, (uint64_t)etext - start, PROT_READ | PROT_WRITE | PROT_EXEC);
	__asm__ volatile("brk #1" ::: "memory");
}

static inline __attribute__((always_inline)) void step_off(void)
{
	__asm__ volatile("brk #2" ::: "memory");
}
#endif

KEEP long small(long n)
{
	return n < 2 ? n : small(n - 1) + small(n - 2);
}

KEEP long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	char room[24];

	memset(room, (int)a, sizeof(room));
	return a ? many(a - 1, b, c, d, e, f, h, g) + room[1] : g + h;
}

KEEP long hand_on(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return many(a + 1, b, c, d, e, f, g, h);
}

KEEP long saves(long *values, int n)
{
	long sum = 0;

	for (int i = 0; i < n; i++)
		sum += small(values[i]) * many(i, 1, 2, 3, 4, 5, 6, 7);
	return sum;
}

KEEP long first_call(long n)
{
	return small(n) + 1;
}

static long (*volatile ends[])(long) = { small, first_call };

KEEP long ends_anywhere(long n)
{
	return ends[n & 1](n + 1);
}

__attribute__((cold)) KEEP long rare(long n)
{
	return small(n) * 3;
}

/* What is rare is elsewhere, and leads back. */
KEEP long splits(long n)
{
	volatile long room[4] = { n, 2, 3, 4 };

	if (__builtin_expect(n > 2, 0))
		room[n & 3] += rare(n);
	room[2] += small(room[1]);
	if (__builtin_expect(n > 3, 0))
		return rare(room[2] & 3) + room[n & 3];
	return room[2] + room[n & 3];
}

int main(void)
{
	long values[] = { 1, 3, 2 }, sum = 0;
	struct sigaction action = { .sa_sigaction = step_trap, .sa_flags = SA_SIGINFO };

	main_body = step_caller();

	/* The unwinder allocates on its first use. */
	{
		struct walk walk = { 0, 0 };
		_Unwind_Backtrace(step_frame, &walk);
	}
	sigaction(SIGTRAP, &action, NULL);
	step_on();
	sum += saves(values, 3) + hand_on(2, 1, 2, 3, 4, 5, 6, 7) + first_call(3);
	sum += saves(values, 2) + ends_anywhere(2) + ends_anywhere(3);
	sum += splits(1) + splits(3) + splits(4);
	step_off();
	printf("%ld\n", sum);
	if (lost)
		printf("%lu of %lu instructions are not unwound, the first at %p\n", lost, steps, lost_at);
	if (strays)
		printf("%lu of %lu returns go elsewhere than their calls say, the first at %p\n", strays,
		       returns, stray_at);
#ifdef __x86_64__
	if ((!THUNKS && step_depth) || returns < 50) {
		printf("%lu returns, %d calls are open\n", returns, step_depth);
		return 1;
	}
#endif
	return lost || strays || steps < 500;
}
