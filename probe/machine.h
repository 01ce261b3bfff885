/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the run time needs of the machine that it is compiled for. */
#ifndef TRIMTAB_PROBE_MACHINE_H
#define TRIMTAB_PROBE_MACHINE_H

#include "internal.h"

/* Who compiles this names the machine, as in -DMACHINE=x86_64: its parts are x86_64.h and x86_64.S. */
#define MACHINE_TEXT(name) #name
#define MACHINE_FILE(name) MACHINE_TEXT(name)

#ifndef __ASSEMBLER__
#include <unwind.h>

/* What libgcc says of a function besides: the bases of its encodings. */
struct unwind_bases {
	void *text, *data, *function;
};
extern const void *_Unwind_Find_FDE(void *address, struct unwind_bases *bases);

/* Whether the unwinder knows tables of the program yet: in some static programs a constructor makes them known,
 * and unwinding before that aborts. */
static int can_unwind(void)
{
	struct unwind_bases bases;

	return _Unwind_Find_FDE((void *)can_unwind, &bases) != NULL;
}

#include MACHINE_FILE(MACHINE.h)
#endif

#endif
