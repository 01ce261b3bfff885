/* SPDX-License-Identifier: GPL-2.0-only */
/* What a program and the module say to each other where a proxy makes the program's system calls. */
#ifndef APPKERNEL_PROXY_H
#define APPKERNEL_PROXY_H

#include <linux/ioctl.h>
#include <linux/types.h>

/* The number of a message that is a page fault, and no system call. */
#define AK_PROXY_FAULT (-1)

/**
 * struct ak_message - one at a time, from the program to its proxy
 * @number: of the system call, or AK_PROXY_FAULT
 * @arguments: of the call; of a fault, its address, and whether it is a write
 * @entry: where the proxy begins, with the address of this as its first argument
 * @stack: and its stack's highest address
 */
struct ak_message {
	__s64 number;
	__u64 arguments[6];
	__u64 entry, stack;
};

/* From now on the thread has a proxy. */
#define AK_PROXY_START _IOW('A', 1, struct ak_message)
/* The proxy has done what the message says; the argument is the call's result. The program goes on. */
#define AK_PROXY_DONE _IO('A', 2)

#endif
