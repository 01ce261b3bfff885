/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The hook that others are measured with: the counter of cycles is read at entry, and what has
 * passed is added up at exit. As little as can be, for each thread, in the way that each tool
 * calls hooks. */
#include <stdint.h>

#define DEPTH 65536
#define QUIET __attribute__((no_instrument_function))

static __thread uint64_t start[DEPTH], sum;
static __thread unsigned depth;

QUIET static inline uint64_t cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

QUIET static inline void enter(void)
{
	start[depth++ & (DEPTH - 1)] = cycles();
}

QUIET static inline void leave(void)
{
	sum += cycles() - start[--depth & (DEPTH - 1)];
}

#ifdef XRAY
#include <xray/xray_interface.h>

__attribute__((xray_never_instrument)) static void handler(int32_t function, enum XRayEntryType type)
{
	(void)function;
	if (type == ENTRY)
		enter();
	else
		leave();
}

__attribute__((constructor, xray_never_instrument)) static void begin(void)
{
	__xray_set_handler((void (*)(int32_t, enum XRayEntryType))handler);
	__xray_patch();
}
#else
QUIET void __cyg_profile_func_enter(void *function, void *caller);
QUIET void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller)
{
	(void)function;
	(void)caller;
	enter();
}

void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)function;
	(void)caller;
	leave();
}
#endif
