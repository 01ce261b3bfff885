/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TRIMTAB_PROBE_AARCH64_H
#define TRIMTAB_PROBE_AARCH64_H

#include <asm/hwcap.h>
#include <errno.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unwind.h>

/* Number in DWARF of the register that points at a frame: x19. */
#define FRAME_REGISTER 19
/* Number in DWARF of the stack pointer. */
#define STACK_REGISTER 31
/* What stands where the body returns to in a stub that has a frame. A test compares it with
 * crates/trimtab-probe/src/arch/aarch64/dwarf.rs. */
#define STUB_MARK 0xd28a885fu
/* Offsets in the file are multiples of this, which is a multiple of every size of pages. */
#define PAGE 65536ul

/* Whether there are vectors of the scalable extension to be saved. */
HIDDEN unsigned char trimtab_probe_scalable;

static inline uint64_t cycles(void)
{
	uint64_t now;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(now));
	return now;
}

/* Counters of the processor are not read here: programs may do that only where
 * /proc/sys/kernel/perf_user_access says so. */
#define HARDWARE_COUNTERS 0

static inline uint64_t hardware_counter(uint32_t number)
{
	(void)number;
	return 0;
}

/* Waits for another thread. */
static inline void relax(void)
{
	__asm__ volatile("yield");
}

/* Bytes of the stack that unwinding takes at the most. */
#define UNWINDING_ROOM 4096ul

/* Whether a signal interrupted a system call that does not go on by itself. */
static inline int waited_in_vain(const void *context)
{
	const mcontext_t *machine = &((const ucontext_t *)context)->uc_mcontext;
	const uint32_t *code = (const uint32_t *)machine->pc;

	return (long)machine->regs[0] == -EINTR && code[-1] == 0xd4000001;
}

static inline long call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = number;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}

static void find_vectors(void)
{
	trimtab_probe_scalable = !!(getauxval(AT_HWCAP) & HWCAP_SVE);
}

/* Whether a return address leads into a stub that has a frame. Some first functions of a stack have
 * none. */
static inline int is_in_stub(uint64_t address)
{
	return address && !(address & 3) && *(const uint32_t *)address == STUB_MARK;
}

/*
 * Whether a function with a frame is still active although it lies below the stack pointer. Its body
 * may keep the return address anywhere. But such frames are only asked for on the stack that the
 * thread began with (see outermost), where nothing lives below.
 */
static inline int is_active(const struct frame *frame)
{
	(void)frame;
	return 0;
}

/* Of functions that were reached by jumps, each from the one before, this many are followed. */
#define LONGEST_CHAIN 64

/* Whether a stub's frame is the first of more than that. For each of them an unwinder goes through
 * all that are left: of a hundred thousand that takes minutes. */
static inline int is_long_chain(const struct frame *frame)
{
	int count;

	for (count = 0; is_in_stub(frame->ret); count++) {
		if (count == LONGEST_CHAIN)
			return 1;
		frame = (const struct frame *)frame->saved;
	}
	return 0;
}

static _Unwind_Reason_Code note_frame(struct _Unwind_Context *context, void *last)
{
	*(uint64_t *)last = _Unwind_GetCFA(context);
	if (is_in_stub(_Unwind_GetIP(context)) &&
	    is_long_chain((const struct frame *)_Unwind_GetGR(context, FRAME_REGISTER))) {
		*(uint64_t *)last = 0;
		return _URC_END_OF_STACK;
	}
	return _URC_NO_REASON;
}

/* Where the outermost function of this stack is: it tells the stack that a thread began with from a
 * coroutine's, also where that lies within it. 0 where that would take too long, and where nothing can be
 * unwound yet. */
static inline uint64_t outermost(void)
{
	uint64_t last = 0;

	if (can_unwind())
		_Unwind_Backtrace(note_frame, &last);
	return last;
}

#endif
