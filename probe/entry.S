/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where stubs enter C: for the machine that this is compiled for. */
#if defined(__x86_64__)
#include "entry_x86_64.S"
#elif defined(__aarch64__)
#include "entry_aarch64.S"
#else
#error "probes are for x86-64 and AArch64"
#endif
