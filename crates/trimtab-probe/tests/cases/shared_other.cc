/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "shared.h"

__attribute__((noinline)) long other(long n)
{
	return guarded(n) + 1;
}
