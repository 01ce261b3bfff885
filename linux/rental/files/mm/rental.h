/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of rental memory share. Nothing here is for others; they have
 * include/linux/rental.h.
 */
#ifndef _MM_RENTAL_H
#define _MM_RENTAL_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/jump_label.h>
#include <linux/mutex.h>
#include <linux/rental.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/xarray.h>

/*
 * The value of an entry: RENTAL_ENTRY, the generation of its slot, the slot's
 * index in its region, and the region.
 */
#define RENTAL_REGION_BITS	3
#define RENTAL_SLOT_BITS	22
#define RENTAL_REGIONS		BIT(RENTAL_REGION_BITS)
#define RENTAL_MAX_SLOTS	BIT(RENTAL_SLOT_BITS)

/* What is rented and returned is a number of these, 1 MiB each. */
#define RENTAL_CHUNK_SHIFT	20
#define RENTAL_CHUNK		BIT(RENTAL_CHUNK_SHIFT)
#define RENTAL_CHUNK_SLOTS	(RENTAL_CHUNK >> PAGE_SHIFT)

#define RENTAL_NO_SLOT		U32_MAX

/**
 * enum rental_state - what a slot is used for
 * @RENTAL_FREE: for nothing, but its shadow may still be asked for
 * @RENTAL_FULL: it has a copy
 * @RENTAL_BUSY: a copy is being made, in or out, and no other may begin
 * @RENTAL_HOLE: it must not be used: memory of a firmware, for example
 */
enum rental_state {
	RENTAL_FREE,
	RENTAL_FULL,
	RENTAL_BUSY,
	RENTAL_HOLE,
};

/**
 * struct rental_slot - a page of a region
 * @shadow: the shadow entry that the eviction would have left
 * @generation: counts what was stored here; an entry with another one is stale
 * @used: when it was stored, or read last: how many were before, in all regions
 * @next: next slot of its list, or RENTAL_NO_SLOT
 * @prev: previous one
 * @device: device of the file system of its copy
 * @ino: inode of its copy
 * @index: page of the inode
 * @state: an enum rental_state
 * @listed: in a list
 * @active: its page was active once, or read here, and is worth being kept
 * @users: how many are copying from it
 */
struct rental_slot {
	void *shadow;
	u32 generation;
	u32 used;
	u32 next;
	u32 prev;
	u32 device;
	u32 ino;
	u32 index;
	u8 state : 2;
	u8 listed : 1;
	u8 active : 1;
	u8 users;
};

/* Slots, by their indices; newest last. */
struct rental_list {
	u32 first;
	u32 last;
};

/**
 * struct rental_region - memory of a device
 * @name: for people
 * @node: of the device tree, if that describes it
 * @number: its number in entries
 * @lock: serializes rents, returns and what overwrites
 * @start: where it is, or 0 in tests
 * @memory: where it is mapped
 * @nr_slots: how many pages it has
 * @slots: one for each page
 * @rented: bit map of chunks that are rented
 * @open: bit map of those of them of which copies may be used
 * @storing: bit map of those of them that take new copies
 * @stores: whether any of them does
 * @dirty: bit map of slots with bytes of a file, maybe of an earlier copy. Set
 *	with rental_lock in open chunks, cleared with @lock in closed ones;
 *	atomically, as chunks of large pages share a word.
 * @nr_rented: how many pages of it are rented, without holes
 * @nr_holes: how many of its pages are holes
 * @holes: how many pages of each chunk
 * @scrubs: what is stored will be overwritten when it is returned
 * @free: slots without a copy
 * @inactive: slots with a copy that is not active, in order of when they were
 *	stored or read last
 * @active: slots with an active copy, in the same order
 * @nr_active: how many of those each chunk has
 * @copies: copies that are being made, by the phase in which they began
 * @phase: of copies that begin now, 0 or 1
 */
struct rental_region {
	const char *name;
	struct device_node *node;
	unsigned int number;
	struct mutex lock;	/* rents, returns, scrubs */
	phys_addr_t start;
	void *memory;
	unsigned long nr_slots;
	struct rental_slot *slots;
	unsigned long *rented;
	unsigned long *open;
	unsigned long *storing;
	bool stores;
	unsigned long *dirty;
	unsigned long nr_rented;
	unsigned long nr_holes;
	u16 *holes;
	bool scrubs;
	struct rental_list free;
	struct rental_list inactive;
	struct rental_list active;
	u16 *nr_active;
	atomic_t copies[2];
	unsigned int phase;
};

/* What is counted; rental_counter_names has the names. */
enum rental_counter {
	RENTAL_STORED,
	RENTAL_HITS,
	RENTAL_HITS_IN_PLACE,
	RENTAL_HITS_OVERWRITTEN,
	RENTAL_RECYCLED,
	RENTAL_STALE,
	RENTAL_LATE,
	RENTAL_DROPPED,
	RENTAL_REFUSED_ORDER,
	RENTAL_REFUSED_KIND,
	RENTAL_REFUSED_ENCRYPTED,
	RENTAL_REFUSED_POLICY,
	RENTAL_REFUSED_EXCLUDED,
	RENTAL_REFUSED_BUSY,
	RENTAL_RENTS,
	RENTAL_RETURNS,
	RENTAL_SCRUBBED,
	RENTAL_MOVED,
	RENTAL_DROPPED_ACTIVE,
	RENTAL_COUNTERS,
};

extern const char *const rental_counter_names[RENTAL_COUNTERS];
extern atomic_long_t rental_counters[RENTAL_COUNTERS];

static inline void rental_count(enum rental_counter what)
{
	atomic_long_inc(&rental_counters[what]);
}

static inline void rental_count_many(enum rental_counter what, unsigned long many)
{
	atomic_long_add(many, &rental_counters[what]);
}

/* Which evicted pages are stored. */
enum rental_policy {
	RENTAL_STORE_ALL,
	RENTAL_STORE_WORKINGSET,
	RENTAL_STORE_TWICE,
	RENTAL_POLICIES,
};

extern const char *const rental_policy_names[RENTAL_POLICIES];
extern unsigned int rental_policy;
extern bool rental_dirtyable;

/**
 * struct rental_returns - how long returns took
 * @last_ns: the last one, without scrubbing and without moving pages
 * @max_ns: the longest of these
 * @sum_ns: all of these
 * @scrub_cpu_ns: processor time of scrubbing before a return, all together
 * @active_cpu_ns: processor time of moving pages, all together
 * @active_max_ns: the longest time that moving pages took, with whatever else
 *	ran meanwhile
 *
 * Protected by rental_lock.
 */
struct rental_returns {
	u64 last_ns;
	u64 max_ns;
	u64 sum_ns;
	u64 scrub_cpu_ns;
	u64 active_cpu_ns;
	u64 active_max_ns;
};

extern struct rental_returns rental_returns;

/* Whether anything was ever rented. */
DECLARE_STATIC_KEY_FALSE(rental_used);

/* Protects slots, lists and bit maps; taken within i_pages. */
extern spinlock_t rental_lock;
/* Protects rental_regions; a region's own lock is taken within. */
extern struct mutex rental_mutex;
extern struct rental_region *rental_regions[RENTAL_REGIONS];
/* Of all regions. */
extern unsigned long rental_rented_pages;
/* How many regions take new copies. */
extern unsigned int rental_storing_regions;

/**
 * struct rental_scan - how many pages may be looked at to make room
 * @blocks: whether there may be blocks of free ones
 * @plain: inactive ones, of which those without buffers are evicted
 * @all: inactive ones after these, also with buffers
 * @active: active ones, from the oldest on, after all others
 */
struct rental_scan {
	bool blocks;
	unsigned long plain;
	unsigned long all;
	unsigned long active;
};

/* Which page of which file is stored. */
struct rental_owner {
	u32 device;
	u32 ino;
	u32 index;
	bool active;
};

void *rental_store_copy(struct folio *folio, void *shadow, bool encrypted,
			const struct rental_owner *owner);
void *rental_use_up(void *entry, struct folio *folio, enum rental_counter why);
size_t rental_read_copy(void *entry, const struct inode *inode, loff_t position,
			struct iov_iter *iter);
unsigned int rental_evict(struct address_space *mapping, struct folio **folios,
			  unsigned int nr);
unsigned int rental_replace(struct address_space *mapping,
			    const struct rental_region *region,
			    struct rental_slot **slots, struct folio **folios,
			    unsigned int nr);
void rental_list_init(struct rental_list *list);
void rental_list_add(struct rental_region *region, struct rental_list *list,
		     struct rental_slot *slot);
void rental_list_join(struct rental_region *region, struct rental_list *list,
		      u32 prev, u32 next);
void rental_list_del(struct rental_region *region, struct rental_list *list,
		     struct rental_slot *slot);
struct rental_list *rental_list_of(struct rental_region *region,
				   const struct rental_slot *slot);
bool rental_is_open(const struct rental_region *region,
		    const struct rental_slot *slot);
bool rental_may_evict(const struct rental_scan *scan);
unsigned int rental_make_room(struct folio **room, unsigned int pages,
			      struct rental_scan *scan, bool may_reclaim);
void rental_move_active(struct rental_region *region, unsigned long first,
			unsigned long last, struct rental_active *active);
struct rental_region *rental_new_region(const char *name, void *memory,
					unsigned long nr_slots);
void rental_free_region(struct rental_region *region);
void rental_drop_all(void);
int rental_add_node(struct device_node *node, phys_addr_t start,
		    phys_addr_t size);

/* The entry that stands for a copy in i_pages. */
static inline void *rental_make_entry(const struct rental_region *region,
				      const struct rental_slot *slot)
{
	unsigned long value = slot->generation;

	value = (value << RENTAL_SLOT_BITS) | (slot - region->slots);
	value = (value << RENTAL_REGION_BITS) | region->number;
	return xa_mk_value(RENTAL_ENTRY | value);
}

static inline void *rental_address(const struct rental_region *region,
				   const struct rental_slot *slot)
{
	return region->memory + ((slot - region->slots) << PAGE_SHIFT);
}

#endif
