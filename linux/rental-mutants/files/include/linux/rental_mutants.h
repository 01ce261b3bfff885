/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rental memory with faults on purpose: rental_mutant=NAME on the command line
 * leaves out one of its hooks or checks, and rental_delays=1 makes the moments
 * longer in which something else can come in between.
 */
#ifndef _LINUX_RENTAL_MUTANTS_H
#define _LINUX_RENTAL_MUTANTS_H

#include <linux/compiler.h>
#include <linux/types.h>

struct address_space;
struct folio;

enum rental_mutant {
	RENTAL_MUTANT_NONE,
	RENTAL_MUTANT_TRUNCATE_START,
	RENTAL_MUTANT_TRUNCATE_END,
	RENTAL_MUTANT_TRUNCATE_EXCLUDE,
	RENTAL_MUTANT_INVALIDATE_EXCLUDE,
	RENTAL_MUTANT_EXCLUDE,
	RENTAL_MUTANT_DIRECT,
	RENTAL_MUTANT_DIRECT_ASYNC,
	RENTAL_MUTANT_READAHEAD,
	RENTAL_MUTANT_READ_AGAIN,
	RENTAL_MUTANT_GENERATION,
	RENTAL_MUTANT_ENTRY,
	RENTAL_MUTANT_STATE,
	RENTAL_MUTANT_BUSY,
	RENTAL_MUTANT_USERS,
	RENTAL_MUTANT_READ_SIZE,
	RENTAL_MUTANT_MOVE,
	RENTAL_MUTANT_OPEN,
	RENTAL_MUTANT_CLOSE,
	RENTAL_MUTANT_LAST_CHUNK,
	RENTAL_MUTANT_STORING,
	RENTAL_MUTANT_WAIT,
	RENTAL_MUTANT_SCRUB,
	RENTAL_MUTANT_SCRUB_LATER,
	RENTAL_MUTANT_DIRTY,
	RENTAL_MUTANT_ENCRYPTED,
	RENTAL_MUTANT_HOLE,
	RENTAL_MUTANTS,
};

extern enum rental_mutant rental_mutant_used;

#define rental_mutant(name) \
	unlikely(READ_ONCE(rental_mutant_used) == RENTAL_MUTANT_##name)

/* For the fault READAHEAD; it is filemap.c's own otherwise. */
int add_folio(struct address_space *mapping, struct folio *folio,
	      pgoff_t index, gfp_t gfp, bool take);

void rental_delay(struct address_space *mapping);
void rental_delay_copy(const u32 *generation, unsigned int times, unsigned int ms);

#endif
