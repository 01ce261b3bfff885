// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which hook or check of rental memory is left out, and delays where one could
 * be missed. All are in one kernel, as in mutant schemata (Untch, Offutt and
 * Harrold, 1993): it is built once.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/rental_mutants.h>
#include <linux/sched.h>
#include <linux/string.h>

enum rental_mutant rental_mutant_used;
static bool delays;

static const char *const names[RENTAL_MUTANTS] = {
	[RENTAL_MUTANT_NONE] = "none",
	[RENTAL_MUTANT_TRUNCATE_START] = "truncate-start",
	[RENTAL_MUTANT_TRUNCATE_END] = "truncate-end",
	[RENTAL_MUTANT_TRUNCATE_EXCLUDE] = "truncate-exclude",
	[RENTAL_MUTANT_INVALIDATE_EXCLUDE] = "invalidate-exclude",
	[RENTAL_MUTANT_EXCLUDE] = "exclude",
	[RENTAL_MUTANT_DIRECT] = "direct",
	[RENTAL_MUTANT_DIRECT_ASYNC] = "direct-async",
	[RENTAL_MUTANT_READAHEAD] = "readahead",
	[RENTAL_MUTANT_READ_AGAIN] = "read-again",
	[RENTAL_MUTANT_GENERATION] = "generation",
	[RENTAL_MUTANT_ENTRY] = "entry",
	[RENTAL_MUTANT_STATE] = "state",
	[RENTAL_MUTANT_BUSY] = "busy",
	[RENTAL_MUTANT_USERS] = "users",
	[RENTAL_MUTANT_READ_SIZE] = "read-size",
	[RENTAL_MUTANT_MOVE] = "move",
	[RENTAL_MUTANT_OPEN] = "open",
	[RENTAL_MUTANT_CLOSE] = "close",
	[RENTAL_MUTANT_LAST_CHUNK] = "last-chunk",
	[RENTAL_MUTANT_STORING] = "storing",
	[RENTAL_MUTANT_WAIT] = "wait",
	[RENTAL_MUTANT_SCRUB] = "scrub",
	[RENTAL_MUTANT_SCRUB_LATER] = "scrub-later",
	[RENTAL_MUTANT_DIRTY] = "dirty",
	[RENTAL_MUTANT_ENCRYPTED] = "encrypted",
	[RENTAL_MUTANT_HOLE] = "hole",
};

static int __init set_mutant(char *name)
{
	int found = match_string(names, RENTAL_MUTANTS, name);

	/* A run without the fault would look like one that nobody found. */
	if (found < 0)
		panic("there is no rental_mutant=%s\n", name);
	rental_mutant_used = found;
	return 0;
}
early_param("rental_mutant", set_mutant);

static int __init set_delays(char *value)
{
	return kstrtobool(value, &delays);
}
early_param("rental_delays", set_delays);

/* Others run: what they read and evict meanwhile must not be kept. Without a file it is one. */
void rental_delay(struct address_space *mapping)
{
	if (delays && (!mapping || S_ISREG(mapping->host->i_mode)) &&
	    get_random_u32_below(4) == 0)
		schedule_timeout_uninterruptible(1);
}

/*
 * Another CPU runs: the copy's slot must not be used by it meanwhile, or by a
 * device. Once in so many times, at most so long; no longer than until another
 * copy has the slot, which never is where nothing is left out.
 */
void rental_delay_copy(const u32 *generation, unsigned int times, unsigned int ms)
{
	u32 before = READ_ONCE(*generation);

	if (!delays || num_online_cpus() == 1 || get_random_u32_below(times))
		return;
	while (ms-- && READ_ONCE(*generation) == before)
		mdelay(1);
}
