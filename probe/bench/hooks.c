/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The hook of hooks.h in the way that each tool calls hooks. */
#include "hooks.h"

TLS uint64_t hook_start[PLACES], hook_sum, hook_entered, hook_left;
TLS unsigned hook_depth;
volatile uint64_t hook_value;

#if defined(XRAY)
#include <xray/xray_interface.h>

__attribute__((xray_never_instrument)) static void handler(int32_t function, enum XRayEntryType type)
{
	(void)function;
	if (type == ENTRY)
		ENTER;
	else
		LEAVE;
}

__attribute__((constructor, xray_never_instrument)) static void begin(void)
{
	__xray_set_handler((void (*)(int32_t, enum XRayEntryType))handler);
	__xray_patch();
}
#elif !defined(INLINE)
QUIET void __cyg_profile_func_enter(void *function, void *caller);
QUIET void __cyg_profile_func_exit(void *function, void *caller);

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
