/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the parts of the guest's init share. */
#ifndef TRIMTAB_INIT_H
#define TRIMTAB_INIT_H

/*
 * Says one line to the host on the console. The line is whole: kernel messages are held back while
 * it is written.
 */
__attribute__((format(printf, 1, 2))) void say(const char *format, ...);

/*
 * Stops the function tracer, reads its buffers and writes the first call of each function to the
 * open file out, in the text form of /sys/kernel/tracing/trace. Returns 0, or -1 after having said
 * what failed.
 */
int ftrace_send(int out);

#endif
