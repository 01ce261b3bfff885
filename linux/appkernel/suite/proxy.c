// SPDX-License-Identifier: GPL-2.0-only
/* A program with a proxy, which makes its system calls in user mode: the thesis's way. */
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "proxy.h"
#include "suite.h"

/* The file of the module, for the proxy. */
static int device;
static struct ak_message message;
static char stack[16384] __attribute__((aligned(16)));

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

		if (to_do->arguments[1])
			__asm__ volatile("lock; orb $0, %0" : "+m"(*byte) : : "memory");
		else
			(void)*byte;
	} else {
		done[2] = (__u64)call(to_do->number, to_do->arguments);
	}
	call(SYS_ioctl, done);
	__builtin_trap();
}

/* 0 if the thread has a proxy from now on. */
int attach_proxy(void)
{
	device = open("/dev/appkernel", O_WRONLY | O_CLOEXEC);
	message.entry = (__u64)proxy;
	/* As where a call left it: a return address below what is aligned. */
	message.stack = (__u64)(stack + sizeof(stack) - 8);
	return device < 0 || ioctl(device, AK_PROXY_START, &message) != 0;
}
