/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The hook that others are measured with: a number in memory is read at entry, and by how much it
 * grew is added up at exit, as LOPI was measured; or with -DCOUNT entries and exits are counted. As
 * little as can be, for each thread. With -DINLINE it is what macros in the source would be: the
 * compiler puts it into each function, where it is optimised with the rest. It does so before it
 * inlines functions, so those have it, too.
 */
#ifndef HOOKS_H
#define HOOKS_H

#include <stdint.h>

#define PLACES 65536
#define QUIET __attribute__((no_instrument_function))
#define TLS __thread __attribute__((tls_model("local-exec")))

#ifdef __cplusplus
extern "C" {
#endif

extern TLS uint64_t hook_start[PLACES], hook_sum, hook_entered, hook_left;
extern TLS unsigned hook_depth;
/* Hidden, so that no compiler takes its address from a table. */
extern volatile uint64_t hook_value __attribute__((visibility("hidden")));

#define ENTER hook_start[hook_depth++ & (PLACES - 1)] = hook_value
#define LEAVE hook_sum += hook_value - hook_start[--hook_depth & (PLACES - 1)]
#ifdef COUNT
#undef ENTER
#undef LEAVE
#define ENTER hook_entered++
#define LEAVE hook_left++
#endif

#ifdef INLINE
#define HOOK QUIET extern inline __attribute__((gnu_inline, always_inline))

HOOK void __cyg_profile_func_enter(void *function, void *caller)
{
	(void)function;
	(void)caller;
	ENTER;
}

HOOK void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)function;
	(void)caller;
	LEAVE;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
