// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies of evicted page cache in rented memory: how they are made, found and
 * used up. See include/linux/rental.h; regions are in rental_region.c.
 *
 * A slot is a page of a region. Its number and its generation make the value
 * entry that stands in i_pages for the copy. Giving the slot to another copy
 * changes the generation, so entries that are left over are recognized, and
 * nothing has to look for them. A copy that is used is gone: the folio in its
 * place may change. The copy that was stored first makes room for a new one; as
 * pages that are used are copied out, that is the one that was not used for the
 * longest time.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/cacheflush.h>
#include <linux/dax.h>
#include <linux/hash.h>
#include <linux/highmem.h>
#include <linux/magic.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/page-flags.h>
#include <linux/pagemap.h>
#include <linux/shmem_fs.h>
#include <linux/swap.h>

#include "internal.h"
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

/* When the next copy is stored; compared with wrap-around. */
static u32 rental_clock;

/*
 * Mappings of which ranges are being invalidated, by a hash. Meanwhile no copy
 * of them is made or used: it could be of what the disk had before.
 */
#define EXCLUDED_BITS	6
static atomic_t excluded[1 << EXCLUDED_BITS];

static atomic_t *excluded_of(const struct address_space *mapping)
{
	return &excluded[hash_ptr(mapping, EXCLUDED_BITS)];
}

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
}

void rental_list_del(struct rental_region *region, struct rental_list *list,
		     struct rental_slot *slot)
{
	if (slot->prev == RENTAL_NO_SLOT)
		list->first = slot->next;
	else
		region->slots[slot->prev].next = slot->next;
	if (slot->next == RENTAL_NO_SLOT)
		list->last = slot->prev;
	else
		region->slots[slot->next].prev = slot->prev;
	slot->listed = 0;
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

void *rental_make_entry(const struct rental_region *region,
			const struct rental_slot *slot)
{
	unsigned long value = slot->generation;

	value = (value << RENTAL_SLOT_BITS) | (slot - region->slots);
	value = (value << RENTAL_REGION_BITS) | region->number;
	return xa_mk_value(RENTAL_ENTRY | value);
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
		if (test_chunk(region, slot, region->storing))
			return slot;
		/* One that only waits for its return is still used. */
		if (rental_is_open(region, slot))
			return NULL;
		rental_list_del(region, list, slot);
		slot->state = RENTAL_FREE;
	}
	return NULL;
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

		if (!region || !region->nr_rented ||
		    (encrypted && !region->scrubs))
			continue;
		slot = first_storing(region, &region->free);
		if (slot) {
			rental_list_del(region, &region->free, slot);
			*where = region;
			return slot;
		}
		slot = first_storing(region, &region->full);
		if (slot && (!oldest ||
			     (s32)(slot->evicted - oldest->evicted) < 0)) {
			oldest = slot;
			*where = region;
		}
	}
	if (oldest) {
		rental_list_del(*where, &(*where)->full, oldest);
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
	slot->evicted = rental_clock++;
	slot->shadow = shadow;
	slot->device = owner->device;
	slot->ino = owner->ino;
	slot->index = owner->index;
	slot->active = owner->active;
	slot->state = RENTAL_BUSY;
	__set_bit(slot - region->slots, region->dirty);
	/* Now: as soon as it is listed, another copy may have the slot. */
	entry = rental_make_entry(region, slot);
	phase = region->phase;
	atomic_inc(&region->copies[phase]);
	spin_unlock(&rental_lock);

	/* Interrupts are off: a return may wait for this. */
	copy_page(rental_address(region, slot), folio_address(folio));

	spin_lock(&rental_lock);
	slot->state = RENTAL_FULL;
	rental_list_add(region, &region->full, slot);
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

/*
 * File systems that change what is on the disk only through the page cache, or
 * after they invalidated it. Others look at folios alone there: bcachefs for
 * direct writes, btrfs for relocation, nilfs2 for its metadata.
 */
static bool is_known(const struct super_block *sb)
{
	switch (sb->s_magic) {
	case EROFS_SUPER_MAGIC_V1:
	case EXFAT_SUPER_MAGIC:
	case EXT4_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case MSDOS_SUPER_MAGIC:
	case SQUASHFS_MAGIC:
	case XFS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

/**
 * rental_store() - copy a folio that is being evicted to rented memory
 * @folio: a folio of a file: locked, clean, with no user left
 * @shadow: the shadow entry that its eviction would leave
 *
 * Context: the lock of i_pages, with interrupts off, between the eviction and
 * the removal from i_pages.
 * Return: what to leave in i_pages, an entry for the copy or the shadow entry.
 */
void *rental_store(struct folio *folio, void *shadow)
{
	struct inode *inode = folio->mapping->host;
	struct rental_owner owner;

	if (!READ_ONCE(rental_rented_pages))
		return shadow;
	if (folio_test_large(folio)) {
		rental_count(RENTAL_REFUSED_ORDER);
		return shadow;
	}
	if (!folio_test_uptodate(folio) || folio_test_hwpoison(folio) || !inode ||
	    !S_ISREG(inode->i_mode) || !inode->i_sb->s_bdev ||
	    !is_known(inode->i_sb) ||
	    inode->i_ino > U32_MAX || folio->index > U32_MAX) {
		rental_count(RENTAL_REFUSED_KIND);
		return shadow;
	}
	if (rental_policy == RENTAL_STORE_WORKINGSET &&
	    !folio_test_workingset(folio)) {
		rental_count(RENTAL_REFUSED_POLICY);
		return shadow;
	}
	if (atomic_read(excluded_of(folio->mapping))) {
		rental_count(RENTAL_REFUSED_EXCLUDED);
		return shadow;
	}
	owner.device = inode->i_sb->s_dev;
	owner.ino = inode->i_ino;
	owner.index = folio->index;
	owner.active = folio_test_workingset(folio);
	return rental_store_copy(folio, shadow, IS_ENCRYPTED(inode), &owner);
}

/* The slot has no copy any more. */
static void release(struct rental_region *region, struct rental_slot *slot)
{
	slot->state = RENTAL_FREE;
	rental_list_add(region, &region->free, slot);
}

/**
 * rental_take() - use up the copy of an entry
 * @entry: an entry that was in i_pages a moment ago
 * @folio: the locked folio that is there now, which is to have the copy's bytes
 *	and to be up to date; or NULL, to drop the copy
 *
 * Return: the shadow entry that was stored with it, or NULL.
 */
void *rental_take(void *entry, struct folio *folio)
{
	struct rental_region *region;
	struct rental_slot *slot;
	void *shadow = NULL;
	unsigned int phase;
	unsigned long flags;

	if (!rental_entry(entry))
		return entry;
	if (folio && atomic_read(excluded_of(folio->mapping)))
		folio = NULL;
	spin_lock_irqsave(&rental_lock, flags);
	slot = find(entry, &region);
	if (!slot) {
		rental_count(RENTAL_STALE);
		goto unlock;
	}
	shadow = slot->shadow;
	if (slot->state != RENTAL_FULL || !rental_is_open(region, slot)) {
		rental_count(RENTAL_LATE);
		goto unlock;
	}
	rental_list_del(region, &region->full, slot);
	if (!folio) {
		rental_count(RENTAL_DROPPED);
		release(region, slot);
		goto unlock;
	}
	slot->state = RENTAL_BUSY;
	phase = region->phase;
	atomic_inc(&region->copies[phase]);
	/* Preemption stays off: a return may wait for this. */
	preempt_disable();
	spin_unlock_irqrestore(&rental_lock, flags);

	copy_page(folio_address(folio), rental_address(region, slot));
	flush_dcache_folio(folio);
	folio_mark_uptodate(folio);
	rental_count(RENTAL_HITS);
	trace_rental_take(slot->device, slot->ino, slot->index);

	spin_lock_irqsave(&rental_lock, flags);
	release(region, slot);
	spin_unlock_irqrestore(&rental_lock, flags);
	/* Last: from here on the region may be gone. */
	atomic_dec_return_release(&region->copies[phase]);
	preempt_enable();
	return shadow;

unlock:
	spin_unlock_irqrestore(&rental_lock, flags);
	return shadow;
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

/**
 * rental_forget() - drop the copies of a range of a file
 * @mapping: the file
 * @first: first page
 * @last: last page, inclusive
 *
 * Their shadow entries stay. For what changes a file without a folio.
 * Context: may sleep.
 */
void rental_forget(struct address_space *mapping, pgoff_t first, pgoff_t last)
{
	XA_STATE(xas, &mapping->i_pages, first);
	unsigned int visited = 0;
	void *entry;

	if (!static_branch_unlikely(&rental_used) || dax_mapping(mapping) ||
	    shmem_mapping(mapping))
		return;
	mapping_set_update(&xas, mapping);
	spin_lock(&mapping->host->i_lock);
	xas_lock_irq(&xas);
	xas_for_each(&xas, entry, last) {
		if (rental_entry(entry))
			xas_store(&xas, rental_take(entry, NULL));
		if (++visited % XA_CHECK_SCHED)
			continue;
		xas_pause(&xas);
		xas_unlock_irq(&xas);
		cond_resched_lock(&mapping->host->i_lock);
		xas_lock_irq(&xas);
	}
	xas_unlock_irq(&xas);
	if (mapping_shrinkable(mapping))
		inode_add_lru(mapping->host);
	spin_unlock(&mapping->host->i_lock);
}

/**
 * rental_exclude() - have no copies of a range, and make none of its file
 * @mapping: the file
 * @first: first page
 * @last: last page, inclusive
 *
 * For invalidation. It looks at each page once; without this a folio could be
 * evicted before its turn, and be there again after it with what it had before.
 * Until rental_include() pages of the file come from its disk.
 * Context: may sleep.
 */
void rental_exclude(struct address_space *mapping, pgoff_t first, pgoff_t last)
{
	/* Pairs with the lock of i_pages, which who stores or takes has after. */
	atomic_inc(excluded_of(mapping));
	rental_forget(mapping, first, last);
}

/**
 * rental_include() - end what rental_exclude() began
 * @mapping: the file
 */
void rental_include(struct address_space *mapping)
{
	atomic_dec(excluded_of(mapping));
}

/**
 * rental_dirtyable_pages() - how many pages the limits of dirty pages may count
 *
 * Rented memory is never dirty. But for each page of it there is one that need
 * not be kept elsewhere, and may be dirty; the setting rental/dirtyable in
 * debugfs says whether it is counted.
 */
unsigned long rental_dirtyable_pages(void)
{
	return READ_ONCE(rental_dirtyable) ? READ_ONCE(rental_rented_pages) : 0;
}
