/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the run time's parts, the code that the rewriter emits and the reader of recordings agree
 * on. The numbers are in abi.h, which crates/trimtab-probe/src/abi.rs writes. */
#ifndef TRIMTAB_PROBE_INTERNAL_H
#define TRIMTAB_PROBE_INTERNAL_H

#include "abi.h"

/* FRAME_AT of a frame that an exception left. */
#define FRAME_RELEASED 1

#ifndef __ASSEMBLER__
#include <stddef.h>
#include <stdint.h>

#define HIDDEN __attribute__((visibility("hidden")))
#define TLS __thread __attribute__((tls_model("initial-exec")))

/* One for each instrumented object. */
struct object {
	uint32_t version;
	uint32_t hook;
	uint32_t cells;     /* of its functions */
	uint32_t cell_size; /* bytes */
	uint32_t index;     /* given when the program starts */
	uint32_t flags;
	uint32_t reserved[2];
};

/* One for each instrumented function, in the section trimtab_probe_functions. Distances are from
 * the field itself, so that the table needs no relocation when the program is loaded. */
struct function {
	int32_t start;
	uint32_t size;
	int32_t object;
	uint32_t cell;
	int32_t name;
	uint32_t flags;
};

/* Head of a recording. */
struct header {
	char magic[8];
	uint32_t version;
	uint32_t hook;
	uint64_t pid;
	uint64_t start_cycles, start_ns;
	uint64_t last_cycles, last_ns;
	uint64_t end;  /* bytes in use */
	uint64_t bias; /* address in this run less address in the file */
	uint64_t lost; /* events that found no room */
	uint32_t ended;
	uint32_t cell_size;
	uint64_t counter; /* cycles that reading the counter takes */
	uint64_t inside;  /* cycles, or what is counted, of each call that are the stub's */
	char event[32];   /* name of what HOOK_EVENT counts */
	char program[3072];
	uint64_t missed; /* entries and exits in signal handlers that interrupted a probe */
};

/* Head of each piece of a recording behind the first page. */
struct chunk {
	uint32_t kind;
	uint32_t thread; /* of functions: how many */
	uint64_t bytes; /* with this head; whole pages */
	uint64_t used;  /* bytes behind this head */
	uint64_t reserved;
};

/* In a chunk of cells: the cells of an object follow. */
struct block {
	uint32_t object;
	uint32_t bytes; /* of the cells */
	uint64_t reserved;
};

struct function_record {
	uint64_t start;
	uint32_t size;
	uint32_t object;
	uint32_t cell;
	uint32_t flags;
	uint32_t name; /* where it begins, behind all records */
	uint32_t name_length;
};

struct event {
	uint64_t time; /* the lowest bits say of which kind it is */
	uint32_t function;
	uint32_t depth; /* low half of the stack pointer in words: exits find their entry by it */
};

/* A call in a copy: how the frame address of the function is found there. */
struct site {
	uint32_t address; /* that it returns to, behind the stub's start */
	uint32_t place;   /* number of the register, above SITE_REGISTER_SHIFT bits of offset */
};

/* The calls of a copy. */
struct sites {
	uint32_t count;
	struct site sites[];
};

struct edge {
	uint32_t from; /* number of the function plus 2; 1 is what is not instrumented */
	uint32_t to;
	uint64_t count;
};

/* Where a function's stub keeps what it needs, if it cannot be on the stack. The offsets are known to
 * the code that the rewriter emits. */
struct frame {
	uint64_t ret;   /* the return address */
	uint64_t r11;   /* on x86-64 */
	uint64_t saved; /* the register that points here, as the caller had it: rbx or x19 */
	uint64_t at;    /* the stack pointer at entry, less 8 on x86-64, less 16 on AArch64 */
	uint64_t start; /* when the function was entered */
	uint64_t child; /* what the caller's callees took before */
	uint64_t next;  /* the next frame, where this one is free */
	uint64_t spare;
};

ABI_ASSERTIONS
#endif

#endif
