/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Memory that loads take for themselves.
 */
#ifndef TRIMTAB_RENT_MEMORY_H
#define TRIMTAB_RENT_MEMORY_H

#include <sys/mman.h>

#include "rent.h"

/* Memory that is there when it is written to. */
static inline unsigned char *memory_room(long mib)
{
	unsigned char *found = mmap(NULL, (size_t)mib * MIB, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (found == MAP_FAILED)
		fail("there is no room for %ld MiB of memory", mib);
	return found;
}

static inline void memory_take(unsigned char *memory, long from_mib, long to_mib)
{
	for (size_t at = (size_t)from_mib * MIB; at < (size_t)to_mib * MIB; at += PAGE)
		memory[at] = 1;
}

/* Takes what is due of a hog's memory when so many of all steps have begun, of which it has so much. */
static inline void memory_grow(unsigned char *hog, long *held_mib, long hog_mib, long begun, long steps)
{
	long wanted = begun * hog_mib / steps;

	if (wanted <= *held_mib)
		return;
	memory_take(hog, *held_mib, wanted);
	*held_mib = wanted;
}

#endif
