// SPDX-License-Identifier: GPL-2.0-only
/* A program with a proxy, which makes its system calls in user mode: the thesis's way. */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include "proxy.h"
#include "suite.h"

/* A message and, above it, the proxy's stack: each thread has its own. */
#define AREA 16384

/* The file of the module, for all proxies; 0 before the first. */
static long device;

static inline long call(long number, const __u64 *of)
{
	register long r10 __asm__("r10") = (long)of[3];
	register long r8 __asm__("r8") = (long)of[4];
	register long r9 __asm__("r9") = (long)of[5];
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(of[0]), "S"(of[1]), "d"(of[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

/* Floating-point registers are the program's, and errno is. Does not come back. */
__attribute__((noreturn, target("general-regs-only"))) static void proxy(struct ak_message *to_do)
{
	__u64 done[6] = { (__u64)device, AK_PROXY_DONE, 0, 0, 0, 0 };

	if (to_do->number == AK_PROXY_FAULT) {
		volatile char *byte = (volatile char *)to_do->arguments[0];
		__u64 populated[6] = { to_do->arguments[0] & -(__u64)PAGE, PAGE, MADV_POPULATE_WRITE, 0, 0, 0 };

		/* An emulator may read before it writes where one instruction does both: two faults. */
		if (!to_do->arguments[1])
			(void)*byte;
		else if (call(SYS_madvise, populated))
			__asm__ volatile("lock; orb $0, %0" : "+m"(*byte) : : "memory");
	} else {
		done[2] = (__u64)call(to_do->number, to_do->arguments);
	}
	call(SYS_ioctl, done);
	__builtin_trap();
}

/* 0 if the thread has a proxy from now on. Needs no library: it may be in one itself. */
int attach_proxy(void)
{
	__u64 opened[6] = { (__u64)AT_FDCWD, (__u64)"/dev/appkernel", O_WRONLY | O_CLOEXEC, 0, 0, 0 };
	__u64 mapped[6] = { 0, AREA, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, (__u64)-1, 0 };
	__u64 started[6] = { 0, AK_PROXY_START, 0, 0, 0, 0 };
	struct ak_message *message;
	long area;

	if (!device)
		device = call(SYS_openat, opened);
	area = call(SYS_mmap, mapped);
	if (device < 0 || area < 0)
		return 1;
	message = (struct ak_message *)area;
	message->entry = (__u64)proxy;
	/* As where a call left it: a return address below what is aligned. */
	message->stack = (__u64)area + AREA - 8;
	started[0] = (__u64)device;
	started[2] = (__u64)area;
	return call(SYS_ioctl, started) != 0;
}
