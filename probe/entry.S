/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Where stubs enter C: for the machine that this is compiled for. */
#include "machine.h"
#include MACHINE_FILE(MACHINE.S)
