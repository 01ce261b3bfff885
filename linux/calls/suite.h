/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the suite share. */
#ifndef SUITE_H
#define SUITE_H

#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096L
/* What `suite --nothing` ends with, and the file in which it says when it began. */
#define NOTHING 7
#define SAYS 9

enum result { GOOD, MISSING, WRONG };

/* A call: makes it once and checks what it did. */
struct call {
	const char *name;
	enum result (*make)(void);
};

/* End with a name of NULL. */
extern const struct call file_calls[], memory_calls[], process_calls[], message_calls[];

/* What the call took in ticks. */
extern uint64_t spent;

/* Remembers where something was not as it should be. */
enum result failed(int line);

static inline uint64_t ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* What a call gives; what it took is in `spent`. */
#define TIMED(call)                                   \
	({                                            \
		uint64_t began = ticks();             \
		__typeof__(call) gave = (call);       \
		spent = ticks() - began;              \
		gave;                                 \
	})

#define NEED(what)                                    \
	do {                                          \
		if (!(what))                          \
			return failed(__LINE__);      \
	} while (0)

#endif
