/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* After every single instruction the stack is unwound: it must lead to main, in the stubs and the
 * run time as everywhere else. On x86-64 the processor's trap flag stops it at each instruction. On
 * AArch64, where a program cannot do that to itself, a timer does at many: the same work is done
 * until there were enough of them. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unwind.h>

#define KEEP __attribute__((noinline))

#ifdef __x86_64__
#define PLACE(machine) ((void *)(machine)->uc_mcontext.gregs[REG_RIP])
#else
#define PLACE(machine) ((void *)(machine)->uc_mcontext.pc)
#endif

static volatile unsigned long steps, lost;
static void *lost_at;
int main(void);

struct walk {
	int frames;
	int found;
};

static _Unwind_Reason_Code step_frame(struct _Unwind_Context *context, void *argument)
{
	struct walk *walk = argument;
	const void *start = _Unwind_FindEnclosingFunction((void *)_Unwind_GetIP(context));

	walk->frames++;
	if (start && start == (void *)main) {
		walk->found = 1;
		return _URC_END_OF_STACK;
	}
	return walk->frames > 100 ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static void step_trap(int number, siginfo_t *info, void *context)
{
	struct walk walk = { 0, 0 };
	ucontext_t *machine = context;

	(void)number;
	(void)info;
	steps++;
	_Unwind_Backtrace(step_frame, &walk);
	if (!walk.found && !lost++)
		lost_at = PLACE(machine);
}

#ifdef __x86_64__
#define SIGNAL SIGTRAP
#define ENOUGH 500

static inline __attribute__((always_inline)) void step_on(void)
{
	__asm__ volatile("pushf; orl $0x100, (%%rsp); popf" ::: "cc", "memory");
}

static inline __attribute__((always_inline)) void step_off(void)
{
	__asm__ volatile("pushf; andl $~0x100, (%%rsp); popf" ::: "cc", "memory");
}
#else
#define SIGNAL SIGALRM
#define ENOUGH 2000

static inline __attribute__((always_inline)) void step_on(void)
{
	struct itimerval often = { { 0, 200 }, { 0, 200 } };

	setitimer(ITIMER_REAL, &often, NULL);
}

static inline __attribute__((always_inline)) void step_off(void)
{
	struct itimerval never = { { 0, 0 }, { 0, 0 } };

	setitimer(ITIMER_REAL, &never, NULL);
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

int main(void)
{
	long values[] = { 1, 3, 2 }, sum = 0;
	struct sigaction action = { .sa_sigaction = step_trap, .sa_flags = SA_SIGINFO };

	/* The unwinder allocates on its first use. */
	{
		struct walk walk = { 0, 0 };
		_Unwind_Backtrace(step_frame, &walk);
	}
	sigaction(SIGNAL, &action, NULL);
	step_on();
	do {
		sum += saves(values, 3) + hand_on(2, 1, 2, 3, 4, 5, 6, 7) + first_call(3);
		sum += saves(values, 2);
	} while (steps < ENOUGH);
	step_off();
	printf("%ld\n", sum);
	if (lost)
		printf("%lu of %lu instructions are not unwound, the first at %p\n", lost, steps, lost_at);
	return lost || steps < ENOUGH;
}
