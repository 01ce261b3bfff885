/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Hooks of the user's, which use what the program uses, too: the stack, and registers of vectors. */
#include "../../../../probe/trimtab_probe.h"

static _Thread_local double entered, left;

void trimtab_probe_user_enter(const struct trimtab_probe_function *function, uint64_t time)
{
	entered += (double)function->size * 0.5 + (time & 1);
}

void trimtab_probe_user_leave(const struct trimtab_probe_function *function, uint64_t time)
{
	left += (double)function->size * 0.5 + (time & 1);
}
