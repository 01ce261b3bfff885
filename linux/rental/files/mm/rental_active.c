// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adaptive activation: what of rented memory was in use is moved to other
 * memory before it is returned, as far as there is room and time.
 *
 * Room is made of inactive, clean pages, a few at a time and only as long as it
 * is needed. What does not fit is dropped, as it would be without this.
 */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/swap.h>

#include "internal.h"
#include "rental.h"

/* With interrupts off, so many slots are looked at. */
#define MOST_VISITED	64

/* A copy that was found in its region, and where it belongs. */
struct candidate {
	void *entry;
	dev_t device;
	unsigned long ino;
	pgoff_t index;
};

/* Where in a region's list the next slot is looked for, from the newest on. */
struct cursor {
	struct rental_region *region;
	unsigned long first;
	unsigned long last;
	u32 next;
	u32 generation;
};

static void point_to(struct cursor *at, u32 number)
{
	at->next = number;
	if (number != RENTAL_NO_SLOT)
		at->generation = at->region->slots[number].generation;
}

/* Whether there is one more slot; it has a candidate if found->entry is set. */
static bool advance(struct cursor *at, struct candidate *found)
{
	struct rental_region *region = at->region;
	unsigned int visited;

	found->entry = NULL;
	spin_lock_irq(&rental_lock);
	if (at->next != RENTAL_NO_SLOT) {
		struct rental_slot *slot = &region->slots[at->next];

		/* It was used meanwhile: from the newest on, once more. */
		if (slot->state != RENTAL_FULL ||
		    slot->generation != at->generation)
			point_to(at, region->full.last);
	}
	for (visited = 0; at->next != RENTAL_NO_SLOT && visited < MOST_VISITED &&
	     !found->entry; visited++) {
		u32 number = at->next;
		struct rental_slot *slot = &region->slots[number];

		point_to(at, slot->prev);
		if (!slot->active || number < at->first || number > at->last)
			continue;
		found->entry = rental_make_entry(region, slot);
		found->device = slot->device;
		found->ino = slot->ino;
		found->index = slot->index;
		/* It is tried once. */
		slot->active = 0;
	}
	spin_unlock_irq(&rental_lock);
	return found->entry || at->next != RENTAL_NO_SLOT;
}

/* The file of the last candidate; pages that were evicted in a row are often of one. */
struct place {
	struct super_block *sb;
	struct inode *inode;
};

static void leave_inode(struct place *place)
{
	if (place->inode)
		iput(place->inode);
	place->inode = NULL;
}

static void leave(struct place *place)
{
	leave_inode(place);
	if (place->sb)
		drop_super(place->sb);
	place->sb = NULL;
}

/* Whether the file of a candidate is there, and stays until leave(). */
static bool go_to(struct place *place, const struct candidate *it)
{
	if (place->sb && place->sb->s_dev != it->device)
		leave(place);
	if (!place->sb)
		place->sb = try_get_super(it->device);
	/* The last iput() of a file that is gone would wait for a thaw. */
	if (!place->sb || place->sb->s_writers.frozen != SB_UNFROZEN)
		return false;
	/* Of a file without a name ours may become the last reference. */
	if (place->inode &&
	    (place->inode->i_ino != it->ino || !place->inode->i_nlink))
		leave_inode(place);
	if (!place->inode) {
		struct inode *inode;

		rcu_read_lock();
		inode = find_inode_by_ino_rcu(place->sb, it->ino);
		if (inode && inode->i_nlink)
			place->inode = igrab(inode);
		rcu_read_unlock();
	}
	return place->inode;
}

/* Whether the page of a candidate is now in other memory. */
static int move_to(struct address_space *mapping, const struct candidate *it,
		   gfp_t how)
{
	/* A mapping's mask has no NORETRY, without which it would not end. */
	gfp_t gfp = mapping_gfp_constraint(mapping, how | __GFP_HIGHMEM |
					   __GFP_MOVABLE) |
		    __GFP_NOWARN | (how & __GFP_NORETRY);
	struct folio *folio;
	int error;

	/* Entries have generations, so this is the copy of that page or none. */
	if (xa_load(&mapping->i_pages, it->index) != it->entry)
		return -ENOENT;
	folio = filemap_alloc_folio(gfp, 0);
	if (!folio)
		return -ENOMEM;
	error = filemap_add_rental_folio(mapping, folio, it->index, gfp);
	if (!error) {
		/* Else it was used meanwhile: who needs the page reads it. */
		if (folio_test_uptodate(folio)) {
			folio_mark_accessed(folio);
			folio_mark_accessed(folio);
		} else {
			error = -ENOENT;
		}
		folio_unlock(folio);
	}
	folio_put(folio);
	return error;
}

/* For memory that is not free it makes one pass, over what is clean and inactive. */
#define MAKE_ROOM	(GFP_NOIO | __GFP_NORETRY)

static int move_page(struct place *place, const struct candidate *it)
{
	struct address_space *mapping;
	int error;

	if (!go_to(place, it))
		return -ENOENT;
	mapping = place->inode->i_mapping;
	if (!filemap_invalidate_trylock_shared(mapping))
		return -EAGAIN;
	error = move_to(mapping, it, GFP_NOWAIT);
	if (error == -ENOMEM)
		error = move_to(mapping, it, MAKE_ROOM);
	filemap_invalidate_unlock_shared(mapping);
	return error;
}

/* How many copies of these slots are worth being moved. */
static unsigned long count_active(struct rental_region *region,
				  unsigned long first, unsigned long last)
{
	unsigned long i, active = 0;

	for (i = first; i <= last; i++) {
		struct rental_slot *slot = &region->slots[i];

		active += slot->active && slot->state == RENTAL_FULL;
	}
	return active;
}

/**
 * rental_move_active() - move pages that are in use out of memory that will be
 * returned
 * @region: a region
 * @first: first slot, of chunks that take no new copies
 * @last: last slot, inclusive
 * @active: how many, and for how long; says how many were moved
 *
 * It does not wait for I/O, for a file system that is being unmounted, or for a
 * file that is being truncated. Files of which the inode is not in the inode
 * hash, as those of XFS, are not found, and their pages are dropped.
 */
void rental_move_active(struct rental_region *region, unsigned long first,
			unsigned long last, struct rental_active *active)
{
	struct cursor at = { .region = region, .first = first, .last = last };
	u64 begin = ktime_get_ns();
	struct place place = {};
	struct candidate found;
	unsigned long wanted, most;

	active->moved = 0;
	active->dropped = 0;
	if (!active->pages)
		return;
	wanted = count_active(region, first, last);
	most = min(active->pages, wanted);
	spin_lock_irq(&rental_lock);
	point_to(&at, region->full.last);
	spin_unlock_irq(&rental_lock);
	while (active->moved < most && advance(&at, &found)) {
		int error;

		cond_resched();
		if (ktime_get_ns() - begin >= active->ns)
			break;
		if (!found.entry)
			continue;
		error = move_page(&place, &found);
		if (error == -ENOMEM)
			break;
		active->moved += !error;
	}
	leave(&place);
	active->dropped = wanted - active->moved;
	rental_count_many(RENTAL_MOVED, active->moved);
	rental_count_many(RENTAL_DROPPED_ACTIVE, active->dropped);
}
