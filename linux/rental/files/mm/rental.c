// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies of evicted page cache in rented memory: how they are made, found, read
 * and used up. Which, and when, is in rental_file.c; regions are in
 * rental_region.c.
 *
 * A slot is a page of a region. Its number and its generation make the value
 * entry that stands in i_pages for the copy. Giving the slot to another copy
 * changes the generation, so entries that are left over are recognized, and
 * nothing has to look for them. read() copies to its caller from where the copy
 * is, and the copy stays. Whatever else needs the page takes the copy, which is
 * then gone: the folio in its place may change. The copy that was not read for
 * the longest time makes room for a new one.
 */
#include <linux/bitmap.h>
#include <linux/cacheflush.h>
#include <linux/hash.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/uio.h>

#include "rental.h"

#define CREATE_TRACE_POINTS
#include <trace/events/rental.h>

/* So many closed slots are passed by for one copy; more would take too long. */
#define MOST_SKIPPED	16

#define GENERATION_SHIFT	(RENTAL_SLOT_BITS + RENTAL_REGION_BITS)

DEFINE_SPINLOCK(rental_lock);
DEFINE_STATIC_KEY_FALSE(rental_used);
struct rental_region *rental_regions[RENTAL_REGIONS];
unsigned long rental_rented_pages;
unsigned int rental_storing_regions;
unsigned int rental_policy;
bool rental_dirtyable = true;
atomic_long_t rental_counters[RENTAL_COUNTERS];

const char *const rental_policy_names[RENTAL_POLICIES] = {
	[RENTAL_STORE_ALL] = "all",
	[RENTAL_STORE_WORKINGSET] = "workingset",
	[RENTAL_STORE_TWICE] = "twice",
};

const char *const rental_counter_names[RENTAL_COUNTERS] = {
	[RENTAL_STORED] = "stored",
	[RENTAL_HITS] = "hits",
	[RENTAL_HITS_IN_PLACE] = "hits_in_place",
	[RENTAL_HITS_OVERWRITTEN] = "hits_overwritten",
	[RENTAL_RECYCLED] = "recycled",
	[RENTAL_STALE] = "stale",
	[RENTAL_LATE] = "late",
	[RENTAL_DROPPED] = "dropped",
	[RENTAL_REFUSED_ORDER] = "refused_order",
	[RENTAL_REFUSED_KIND] = "refused_kind",
	[RENTAL_REFUSED_ENCRYPTED] = "refused_encrypted",
	[RENTAL_REFUSED_POLICY] = "refused_policy",
	[RENTAL_REFUSED_EXCLUDED] = "refused_excluded",
	[RENTAL_REFUSED_BUSY] = "refused_busy",
	[RENTAL_RENTS] = "rents",
	[RENTAL_RETURNS] = "returns",
	[RENTAL_SCRUBBED] = "scrubbed",
	[RENTAL_MOVED] = "moved",
	[RENTAL_DROPPED_ACTIVE] = "dropped_active",
};

/* When the next copy is stored or read; compared with wrap-around. */
static u32 rental_clock;

void rental_list_init(struct rental_list *list)
{
	list->first = RENTAL_NO_SLOT;
	list->last = RENTAL_NO_SLOT;
}

void rental_list_add(struct rental_region *region, struct rental_list *list,
		     struct rental_slot *slot)
{
	u32 number = slot - region->slots;

	slot->next = RENTAL_NO_SLOT;
	slot->prev = list->last;
	if (list->last == RENTAL_NO_SLOT)
		list->first = number;
	else
		region->slots[list->last].next = number;
	list->last = number;
	slot->listed = 1;
	if (list == &region->active)
		region->nr_active[number / RENTAL_CHUNK_SLOTS]++;
}

/* Has two slots in a row, or no slot and an end of the list. */
void rental_list_join(struct rental_region *region, struct rental_list *list,
		      u32 prev, u32 next)
{
	if (prev == RENTAL_NO_SLOT)
		list->first = next;
	else
		region->slots[prev].next = next;
	if (next == RENTAL_NO_SLOT)
		list->last = prev;
	else
		region->slots[next].prev = prev;
}

void rental_list_del(struct rental_region *region, struct rental_list *list,
		     struct rental_slot *slot)
{
	rental_list_join(region, list, slot->prev, slot->next);
	slot->listed = 0;
	if (list == &region->active)
		region->nr_active[(slot - region->slots) / RENTAL_CHUNK_SLOTS]--;
}

/* The list in which a slot is, if it is in one. */
struct rental_list *rental_list_of(struct rental_region *region,
				   const struct rental_slot *slot)
{
	if (slot->state != RENTAL_FULL)
		return &region->free;
	return slot->active ? &region->active : &region->inactive;
}

static bool test_chunk(const struct rental_region *region,
		       const struct rental_slot *slot,
		       const unsigned long *chunks)
{
	return test_bit((slot - region->slots) / RENTAL_CHUNK_SLOTS, chunks);
}

/* Whether its copy may be used. */
bool rental_is_open(const struct rental_region *region,
		    const struct rental_slot *slot)
{
	return test_chunk(region, slot, region->open);
}

/*
 * The slot of an entry, or NULL if another copy has it by now. The caller holds
 * rental_lock.
 */
static struct rental_slot *find(void *entry, struct rental_region **where)
{
	unsigned long value = xa_to_value(entry) & ~RENTAL_ENTRY;
	struct rental_region *region = rental_regions[value % RENTAL_REGIONS];
	struct rental_slot *slot;
	unsigned long number;

	number = (value >> RENTAL_REGION_BITS) % RENTAL_MAX_SLOTS;
	if (!region || number >= region->nr_slots)
		return NULL;
	slot = &region->slots[number];
	if (slot->generation != value >> GENERATION_SHIFT)
		return NULL;
	*where = region;
	return slot;
}

/*
 * The first slot of a list that takes a new copy, still in the list. Those
 * before it that take none are unlinked: rent_memory() links them again.
 */
static struct rental_slot *first_storing(struct rental_region *region,
					 struct rental_list *list)
{
	unsigned int skipped;

	for (skipped = 0; skipped < MOST_SKIPPED; skipped++) {
		struct rental_slot *slot;

		if (list->first == RENTAL_NO_SLOT)
			return NULL;
		slot = &region->slots[list->first];
		if (test_chunk(region, slot, region->storing)) {
			if (!slot->users)
				return slot;
			/* It is being read, and the last in the list then. */
			rental_list_del(region, list, slot);
			rental_list_add(region, list, slot);
			continue;
		}
		/* One that only waits for its return is still used. */
		if (rental_is_open(region, slot))
			return NULL;
		rental_list_del(region, list, slot);
		slot->state = RENTAL_FREE;
	}
	return NULL;
}

/* The one of two slots that was not used for longer; either may be NULL. */
static struct rental_slot *older(struct rental_slot *one, struct rental_slot *other)
{
	if (!one || !other)
		return one ?: other;
	return (s32)(one->used - other->used) < 0 ? one : other;
}

/*
 * A slot for a new copy, in no list: a free one, or else the oldest. Copies of
 * encrypted files only go where they will be overwritten.
 */
static struct rental_slot *claim(struct rental_region **where, bool encrypted)
{
	struct rental_slot *oldest = NULL;
	unsigned int number;

	for (number = 0; number < RENTAL_REGIONS; number++) {
		struct rental_region *region = rental_regions[number];
		struct rental_slot *slot;

		if (!region || !region->stores ||
		    (encrypted && !region->scrubs))
			continue;
		slot = first_storing(region, &region->free);
		if (slot) {
			rental_list_del(region, &region->free, slot);
			*where = region;
			return slot;
		}
		slot = older(first_storing(region, &region->inactive),
			     first_storing(region, &region->active));
		slot = older(oldest, slot);
		if (slot != oldest) {
			oldest = slot;
			*where = region;
		}
	}
	if (oldest) {
		rental_list_del(*where, rental_list_of(*where, oldest), oldest);
		rental_count(RENTAL_RECYCLED);
	}
	return oldest;
}

/*
 * Pages that were evicted before, for the policy that stores no page the first
 * time: a bit for each hash of a page. It is emptied when half of the bits would
 * be set, as the doorkeeper of TinyLFU (Einziger and others, 2017) is.
 */
#define SEEN_BITS	18
static DECLARE_BITMAP(seen, 1 << SEEN_BITS);
static unsigned long nr_seen;

/* The caller holds rental_lock. */
static bool rental_first_time(const struct rental_owner *owner)
{
	u64 page = ((u64)owner->ino << 32 | owner->index) ^ (u64)owner->device << 16;

	if (__test_and_set_bit(hash_64(page, SEEN_BITS), seen))
		return false;
	if (++nr_seen > 1 << (SEEN_BITS - 1)) {
		bitmap_zero(seen, 1 << SEEN_BITS);
		nr_seen = 0;
	}
	return true;
}

/* What rental_store() does for a folio that may be stored. */
void *rental_store_copy(struct folio *folio, void *shadow, bool encrypted,
			const struct rental_owner *owner)
{
	struct rental_region *region;
	struct rental_slot *slot;
	unsigned int phase;
	void *entry;

	spin_lock(&rental_lock);
	if (rental_policy == RENTAL_STORE_TWICE && rental_first_time(owner)) {
		rental_count(RENTAL_REFUSED_POLICY);
		goto refused;
	}
	slot = claim(&region, encrypted);
	if (!slot) {
		rental_count(encrypted ? RENTAL_REFUSED_ENCRYPTED :
			     RENTAL_REFUSED_BUSY);
		goto refused;
	}
	slot->generation++;
	slot->used = rental_clock++;
	slot->shadow = shadow;
	slot->device = owner->device;
	slot->ino = owner->ino;
	slot->index = owner->index;
	slot->active = owner->active;
	slot->state = RENTAL_BUSY;
	set_bit(slot - region->slots, region->dirty);
	/* Now: as soon as it is listed, another copy may have the slot. */
	entry = rental_make_entry(region, slot);
	phase = region->phase;
	atomic_inc(&region->copies[phase]);
	spin_unlock(&rental_lock);

	/* Interrupts are off: a return may wait for this. */
	copy_page(rental_address(region, slot), folio_address(folio));

	spin_lock(&rental_lock);
	slot->state = RENTAL_FULL;
	rental_list_add(region, rental_list_of(region, slot), slot);
	spin_unlock(&rental_lock);
	rental_count(RENTAL_STORED);
	trace_rental_store(owner->device, owner->ino, owner->index);
	/* Last: from here on the region may be gone. */
	atomic_dec_return_release(&region->copies[phase]);
	return entry;

refused:
	spin_unlock(&rental_lock);
	return shadow;
}

/* The slot has no copy any more. */
static void release(struct rental_region *region, struct rental_slot *slot)
{
	slot->state = RENTAL_FREE;
	rental_list_add(region, &region->free, slot);
}

/* Whether the copy of a slot may be used. The caller holds rental_lock. */
static bool is_usable(const struct rental_region *region,
		      const struct rental_slot *slot)
{
	return slot->state == RENTAL_FULL && slot->users < U8_MAX &&
	       rental_is_open(region, slot);
}

/*
 * Begins to copy from a slot, which stays as it is until end_use(). The caller
 * holds rental_lock. Preemption stays off after it: a return may wait for this.
 */
static unsigned int begin_use(struct rental_region *region,
			      struct rental_slot *slot)
{
	unsigned int phase = region->phase;

	slot->users++;
	atomic_inc(&region->copies[phase]);
	preempt_disable();
	return phase;
}

static void end_use(struct rental_region *region, struct rental_slot *slot,
		    unsigned int phase)
{
	unsigned long flags;

	spin_lock_irqsave(&rental_lock, flags);
	/* One that was taken meanwhile is in no list. */
	if (!--slot->users && slot->state == RENTAL_BUSY)
		release(region, slot);
	spin_unlock_irqrestore(&rental_lock, flags);
	/* Last: from here on the region may be gone. */
	atomic_dec_return_release(&region->copies[phase]);
	preempt_enable();
}

/**
 * rental_use_up() - take the copy of an entry away from it
 * @entry: an entry that was in i_pages a moment ago
 * @folio: a locked folio that is to have the copy's bytes and to be up to date;
 *	or NULL, to drop the copy
 * @why: what it is counted as if it is dropped
 *
 * Return: the shadow entry that was stored with it, or NULL.
 */
void *rental_use_up(void *entry, struct folio *folio, enum rental_counter why)
{
	struct rental_region *region;
	struct rental_slot *slot;
	void *shadow = NULL;
	unsigned int phase;
	unsigned long flags;

	spin_lock_irqsave(&rental_lock, flags);
	slot = find(entry, &region);
	if (!slot) {
		rental_count(RENTAL_STALE);
		goto unlock;
	}
	shadow = slot->shadow;
	if (!is_usable(region, slot)) {
		rental_count(RENTAL_LATE);
		goto unlock;
	}
	rental_list_del(region, rental_list_of(region, slot), slot);
	slot->state = RENTAL_BUSY;
	if (!folio) {
		rental_count(why);
		if (why == RENTAL_HITS_OVERWRITTEN)
			rental_count(RENTAL_HITS);
		if (!slot->users)
			release(region, slot);
		goto unlock;
	}
	phase = begin_use(region, slot);
	spin_unlock_irqrestore(&rental_lock, flags);

	copy_page(folio_address(folio), rental_address(region, slot));
	flush_dcache_folio(folio);
	folio_mark_uptodate(folio);
	rental_count(RENTAL_HITS);
	trace_rental_take(slot->device, slot->ino, slot->index);
	end_use(region, slot, phase);
	return shadow;

unlock:
	spin_unlock_irqrestore(&rental_lock, flags);
	return shadow;
}

/**
 * rental_present() - whether readahead may leave out the page of an entry
 * @entry: an entry that was in i_pages a moment ago
 *
 * Return: whether it has a copy that may be used.
 */
bool rental_present(void *entry)
{
	struct rental_region *region;
	struct rental_slot *slot;
	unsigned long flags;
	bool present;

	if (!rental_entry(entry))
		return false;
	spin_lock_irqsave(&rental_lock, flags);
	slot = find(entry, &region);
	present = slot && is_usable(region, slot);
	spin_unlock_irqrestore(&rental_lock, flags);
	return present;
}

/**
 * rental_read_copy() - read from a copy where it is
 * @entry: an entry that was in i_pages a moment ago
 * @inode: the file
 * @position: where in the file
 * @iter: where to; advanced by what was read
 *
 * Context: any in which faults may be disabled.
 * Return: how many bytes were read, at most to the end of the page or of the
 * file; 0 also where there is no copy, or @iter would have to be faulted in.
 */
size_t rental_read_copy(void *entry, const struct inode *inode, loff_t position,
			struct iov_iter *iter)
{
	size_t copied = 0, offset = offset_in_page(position);
	struct rental_region *region;
	struct rental_slot *slot;
	unsigned int phase;
	unsigned long flags;
	loff_t size;

	spin_lock_irqsave(&rental_lock, flags);
	slot = find(entry, &region);
	if (!slot || !is_usable(region, slot)) {
		spin_unlock_irqrestore(&rental_lock, flags);
		return 0;
	}
	/* What waits for its return is moved elsewhere in the order it has. */
	if (test_chunk(region, slot, region->storing)) {
		rental_list_del(region, rental_list_of(region, slot), slot);
		slot->used = rental_clock++;
		slot->active = 1;
		rental_list_add(region, &region->active, slot);
	}
	phase = begin_use(region, slot);
	spin_unlock_irqrestore(&rental_lock, flags);

	/* After the copy was found, as filemap_read() has it for a folio. */
	size = i_size_read(inode);
	if (position < size) {
		pagefault_disable();
		copied = copy_to_iter(rental_address(region, slot) + offset,
				      min3((loff_t)(PAGE_SIZE - offset),
					   size - position,
					   (loff_t)iov_iter_count(iter)), iter);
		pagefault_enable();
	}
	end_use(region, slot, phase);
	return copied;
}

/**
 * rental_shadow() - the shadow entry for an entry of i_pages
 * @entry: a value entry
 *
 * Return: the shadow entry that its copy was stored with, NULL if that is not
 * known any more, @entry itself if it is none of rental memory.
 */
void *rental_shadow(void *entry)
{
	struct rental_region *region;
	struct rental_slot *slot;
	void *shadow;
	unsigned long flags;

	if (!rental_entry(entry))
		return entry;
	spin_lock_irqsave(&rental_lock, flags);
	slot = find(entry, &region);
	shadow = slot ? slot->shadow : NULL;
	spin_unlock_irqrestore(&rental_lock, flags);
	return shadow;
}
