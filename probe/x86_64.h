/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef TRIMTAB_PROBE_X86_64_H
#define TRIMTAB_PROBE_X86_64_H

/* Number in DWARF of the register that points at a frame: rbx. */
#define FRAME_REGISTER 3
/* Number in DWARF of the stack pointer. */
#define STACK_REGISTER 7
/* What stands where the body returns to in a stub that has a frame. A test compares it with
 * crates/trimtab-probe/src/arch/x86_64/dwarf.rs. */
#define STUB_MARK 0x54401f0f085b894cul
/* Offsets in the file are multiples of this, which is a multiple of every size of pages. */
#define PAGE 4096ul

#include <errno.h>
#include <ucontext.h>

/* Bytes that the vectors take, and whether XSAVE saves them. */
HIDDEN uint64_t trimtab_probe_vectors = 512 + 64;
HIDDEN unsigned char trimtab_probe_xsave;

static inline uint64_t cycles(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (uint64_t)high << 32 | low;
}

/* Whether counters of the processor can be read with hardware_counter. */
#define HARDWARE_COUNTERS 1

static inline uint64_t hardware_counter(uint32_t number)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
	return (uint64_t)high << 32 | low;
}

/* Waits for another thread. */
static inline void relax(void)
{
	__builtin_ia32_pause();
}

static inline long call6(long number, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Bytes of the stack that unwinding takes at the most: where the loader finds its functions then, it saves the
 * vectors. */
#define UNWINDING_ROOM (2400 + trimtab_probe_vectors)

/* Whether a signal interrupted a system call that does not go on by itself. */
static inline int waited_in_vain(const void *context)
{
	const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *code = (const unsigned char *)registers[REG_RIP];

	return registers[REG_RAX] == -EINTR && code[-2] == 0x0f && code[-1] == 0x05;
}

static void find_vectors(void)
{
	uint32_t a, b, c, d;

	__asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(1), "c"(0));
	if (!(c & 1u << 27))
		return;
	__asm__("cpuid" : "=a"(a), "=b"(b), "=c"(c), "=d"(d) : "a"(13), "c"(0));
	trimtab_probe_vectors = ((b + 63ul) & ~63ul) + 64;
	trimtab_probe_xsave = 1;
}

/* Whether a return address leads into a stub that has a frame. */
static inline int is_in_stub(uint64_t address)
{
	return *(const uint64_t *)address == STUB_MARK;
}

extern const char __executable_start[] HIDDEN __attribute__((weak));
extern const char etext[] HIDDEN __attribute__((weak));

/*
 * Whether a function with a frame is still active: then the word below its arguments is the return
 * address into its stub, which is known by the instructions there.
 */
static inline int is_active(const struct frame *frame)
{
	uint64_t back = *(const uint64_t *)(frame->at + 8);

	if (back < (uint64_t)__executable_start || back + 8 > (uint64_t)etext)
		return 0;
	return is_in_stub(back);
}

/* Where the outermost function of this stack is. It does not matter here: is_active tells. */
static inline uint64_t outermost(void)
{
	return 1;
}

#endif
