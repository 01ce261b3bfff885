/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the run time needs of the machine that it is compiled for. */
#ifndef TRIMTAB_PROBE_MACHINE_H
#define TRIMTAB_PROBE_MACHINE_H

#include "internal.h"

#if defined(__x86_64__)
#define MACHINE_HEADER "x86_64.h"
#define MACHINE_ENTRY "entry_x86_64.S"
#elif defined(__aarch64__)
#define MACHINE_HEADER "aarch64.h"
#define MACHINE_ENTRY "entry_aarch64.S"
#else
#error "probes are for x86-64 and AArch64"
#endif

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

#include MACHINE_HEADER
#endif

#endif
