/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hooks that are interrupted, and one that is left by a jump. */
#include "../../../../probe/trimtab_probe.h"
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

#define KEEP __attribute__((noinline))

static volatile int entered, interrupts, jumps;
static jmp_buf out;

KEEP void probed_handler(int number)
{
	(void)number;
}

KEEP void probed_work(void)
{
	__asm__ volatile("");
}

void trimtab_probe_user_enter(const struct trimtab_probe_function *function, uint64_t time)
{
	(void)function;
	(void)time;
	entered++;
	if (interrupts && interrupts--)
		raise(SIGUSR1);
	if (jumps && jumps--)
		longjmp(out, 1);
}

void trimtab_probe_user_leave(const struct trimtab_probe_function *function, uint64_t time)
{
	(void)function;
	(void)time;
}

int main(void)
{
	signal(SIGUSR1, probed_handler);
	probed_work();
	interrupts = 3;
	for (int i = 0; i < 5; i++)
		probed_work();
	jumps = 1;
	if (!setjmp(out))
		probed_work();
	for (int i = 0; i < 4; i++)
		probed_work();
	printf("%d\n", entered);
	return 0;
}
