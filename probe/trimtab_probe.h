/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What an instrumented program can ask of the probes, and what hooks of your own look like.
 *
 * Build with `trimtab probe build --hooks FILE -- make ...` or `trimtab probe instrument --hooks FILE`,
 * where FILE defines trimtab_probe_user_enter, trimtab_probe_user_leave or both, in C or as an object
 * of anything that can define a function with C linkage. On x86-64, one that calls nothing and needs no
 * stack, no vectors and no floating point is put into the probes themselves. A signal may come in the
 * midst of it, and the signal's handler may run it, too. All else is called, with all registers saved,
 * those of vectors included: it may call what it likes but functions that are instrumented themselves.
 *
 * With `--hook user` alone both are called; link an object or an archive that defines them. Hooks that are
 * called return: after one that throws or calls longjmp, none is called any more on that thread.
 */
#ifndef TRIMTAB_PROBE_H
#define TRIMTAB_PROBE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function, as hooks see it. Valid as long as the program runs. */
struct trimtab_probe_function {
	/* 0 and up, without gaps, in this program. */
	uint32_t id;
	/* Bytes of the function. */
	uint32_t size;
	/* Its first instruction, in this run. */
	const void *start;
	/* Its name, as the linker has it. */
	const char *name;
};

/* Turns all probes on or off, now, from any thread. Functions that were entered while they were on
 * are still left properly. */
void trimtab_probe_turn_on(void);
void trimtab_probe_turn_off(void);

/* A number that grows as the program has it: bytes allocated, requests served, a counter that is
 * read from somewhere. `--hook value` adds up by how much it grew while each function ran. All
 * threads have the same: where several count in it, let them add with `__atomic_fetch_add`. */
extern volatile uint64_t trimtab_probe_value;

/* Defined by you, for `--hook user`. `time` is the counter of cycles, which is read where you use
 * it. Called on the thread that runs the function; also when an exception leaves it, but not when
 * longjmp does. */
void trimtab_probe_user_enter(const struct trimtab_probe_function *function, uint64_t time);
void trimtab_probe_user_leave(const struct trimtab_probe_function *function, uint64_t time);

#ifdef __cplusplus
}
#endif

#endif
