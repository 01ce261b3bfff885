/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The hook of hooks.h in the way that each tool calls hooks:
 *
 *   (nothing)         functions that gcc's -finstrument-functions calls
 *   -DINLINE          nothing: the hook is in each function already
 *   -DAFTER_INLINING  functions that LLVM calls and then inlines, in each function that it left
 *   -DXRAY            a handler for clang's XRay
 *   -DUSER            hooks of the user's, for trimtab
 *   -DDYNINST         what the hook in dyninst.cpp works with: Dyninst calls nothing
 *
 * With -DCOUNT (but not for Dyninst) the entries and exits of the main thread are written to the file that
 * HOOKS_FILE names. */
#ifdef DYNINST
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACES 65536

volatile uint64_t hook_value;
uint64_t hook_in[PLACES], hook_out[PLACES];

/* Writes the numbers of each function that ran, to a file if one is named. */
__attribute__((destructor)) static void end(void)
{
	const char *path = getenv("HOOKS_FILE");
	FILE *file = path ? fopen(path, "w") : NULL;
	unsigned i;

	if (!file)
		return;
	for (i = 0; i < PLACES; i++)
		if (hook_in[i] || hook_out[i])
			fprintf(file, "%u %llu %llu\n", i, (unsigned long long)hook_in[i],
				(unsigned long long)hook_out[i]);
	fclose(file);
}
#else
#include "hooks.h"

#ifdef AFTER_INLINING
#define AS __attribute__((always_inline))
#else
TLS uint64_t hook_start[PLACES], hook_sum, hook_entered, hook_left;
TLS unsigned hook_depth;
volatile uint64_t hook_value;
#define AS QUIET
#endif

#if defined(COUNT) && !defined(AFTER_INLINING)
#include <stdio.h>
#include <stdlib.h>

QUIET __attribute__((destructor)) static void end(void)
{
	const char *path = getenv("HOOKS_FILE");
	FILE *file = path ? fopen(path, "w") : NULL;

	if (!file)
		return;
	fprintf(file, "%llu %llu\n", (unsigned long long)hook_entered, (unsigned long long)hook_left);
	fclose(file);
}
#endif

#if defined(XRAY)
#include <stdint.h>

/* As xray/xray_interface.h has them, which is no C in some versions of clang. */
#define XRAY_ENTRY 0
int __xray_set_handler(void (*handler)(int32_t function, int type));
int __xray_patch(void);

__attribute__((xray_never_instrument)) static void handler(int32_t function, int type)
{
	(void)function;
	if (type == XRAY_ENTRY)
		ENTER;
	else
		LEAVE;
}

__attribute__((constructor, xray_never_instrument)) static void begin(void)
{
	__xray_set_handler(handler);
	__xray_patch();
}
#elif defined(USER)
#include "trimtab_probe.h"

void trimtab_probe_user_enter(const struct trimtab_probe_function *function, uint64_t time)
{
	(void)function;
	(void)time;
	ENTER;
}

void trimtab_probe_user_leave(const struct trimtab_probe_function *function, uint64_t time)
{
	(void)function;
	(void)time;
	LEAVE;
}
#elif !defined(INLINE)
AS void __cyg_profile_func_enter(void *function, void *caller);
AS void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
	(void)function;
	(void)caller;
	ENTER;
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)function;
	(void)caller;
	LEAVE;
}
#endif
#endif
