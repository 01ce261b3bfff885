// SPDX-License-Identifier: GPL-2.0-only
/* Gives a program a proxy before it begins: linked to it, or loaded before it. */
#include "suite.h"

__attribute__((constructor)) static void attach_first(void)
{
	if (attach_proxy())
		__builtin_trap();
}
