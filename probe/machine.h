/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the run time needs of the machine that it is compiled for. */
#ifndef TRIMTAB_PROBE_MACHINE_H
#define TRIMTAB_PROBE_MACHINE_H

#include "internal.h"

#if defined(__x86_64__)
#include "x86_64.h"
#elif defined(__aarch64__)
#include "aarch64.h"
#else
#error "probes are for x86-64 and AArch64"
#endif

#endif
