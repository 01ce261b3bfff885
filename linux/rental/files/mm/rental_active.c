// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adaptive activation: what of rented memory was in use is moved to other
 * memory before it is returned, as far as there is room and time.
 *
 * Room is made of inactive, clean pages, a few at a time and only as long as it
 * is needed. What does not fit is dropped, as it would be without this.
 *
 * What is moved is found in the list of active copies, the newest first: copies
 * that are not active are not looked at. A folio takes the place of its copy's
 * entry without the page cache being asked for the page: no refault is counted.
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

/* So many pages are moved in a row; room for them is made at once. */
#define BATCH		32

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

static bool is_active_copy(const struct rental_slot *slot)
{
	return slot->state == RENTAL_FULL && slot->active;
}

/* Points to the newest copy; how many of these slots, of whole chunks, have an active one. */
static unsigned long begin_walk(struct cursor *at)
{
	unsigned long chunk, active = 0;

	spin_lock_irq(&rental_lock);
	for (chunk = at->first / RENTAL_CHUNK_SLOTS;
	     chunk <= at->last / RENTAL_CHUNK_SLOTS; chunk++)
		active += at->region->nr_active[chunk];
	point_to(at, at->region->active.last);
	spin_unlock_irq(&rental_lock);
	return active;
}

/*
 * The next copies that are moved: how many. Until they are released nobody else
 * uses them. There are no more if at->next has no slot.
 */
static unsigned int claim(struct cursor *at, struct rental_slot **claimed,
			  unsigned int most)
{
	struct rental_region *region = at->region;
	unsigned int visited, nr = 0;

	spin_lock_irq(&rental_lock);
	if (at->next != RENTAL_NO_SLOT) {
		struct rental_slot *slot = &region->slots[at->next];

		/* It was used meanwhile: from the newest on, once more. */
		if (!is_active_copy(slot) || slot->generation != at->generation)
			point_to(at, region->active.last);
	}
	for (visited = 0; at->next != RENTAL_NO_SLOT && visited < MOST_VISITED &&
	     nr < most; visited++) {
		u32 number = at->next;
		struct rental_slot *slot = &region->slots[number];

		point_to(at, slot->prev);
		if (number < at->first || number > at->last ||
		    slot->users == U8_MAX)
			continue;
		rental_list_del(region, &region->active, slot);
		slot->state = RENTAL_BUSY;
		slot->users++;
		claimed[nr++] = slot;
	}
	spin_unlock_irq(&rental_lock);
	return nr;
}

static void release(struct rental_region *region, struct rental_slot **claimed,
		    unsigned int nr)
{
	unsigned int i;

	spin_lock_irq(&rental_lock);
	for (i = 0; i < nr; i++)
		rental_end_use(region, claimed[i]);
	spin_unlock_irq(&rental_lock);
}

/* Pages for copies that are moved. */
struct room {
	struct page *pages[BATCH];
	unsigned int nr;
	unsigned long to_scan;
};

/* Where no pages are left of those that were made room for: a direct reclaim of one pass. */
#define MAKE_ROOM	(GFP_NOIO | __GFP_NORETRY)
#define ROOM_FLAGS	(__GFP_HIGHMEM | __GFP_MOVABLE | __GFP_NOWARN)

/* So many pages, if there is room for them or it can be made. */
static void get_room(struct room *room, unsigned int pages)
{
	if (room->nr >= pages)
		return;
	rental_make_room(pages - room->nr, &room->to_scan);
	room->nr = alloc_pages_bulk_array(GFP_NOWAIT | ROOM_FLAGS, pages,
					  room->pages);
}

static void leave_room(struct room *room)
{
	while (room->nr)
		__free_page(room->pages[--room->nr]);
}

/* A folio of it, or one for which others have to go; NULL if there is none. */
static struct folio *folio_from(struct room *room)
{
	struct page *page;

	if (!room->nr)
		return folio_alloc(MAKE_ROOM | ROOM_FLAGS, 0);
	page = room->pages[--room->nr];
	room->pages[room->nr] = NULL;
	return page_folio(page);
}

/* The file of the last copy; pages that were evicted in a row are often of one. */
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

/* Whether the file of a copy is there, and stays until leave(). */
static bool go_to(struct place *place, const struct rental_slot *it)
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

static int move_to(struct address_space *mapping, struct folio *folio,
		   const struct rental_region *region,
		   const struct rental_slot *slot)
{
	gfp_t gfp = mapping_gfp_constraint(mapping, MAKE_ROOM) | __GFP_NORETRY |
		    __GFP_NOWARN;

	if (mem_cgroup_charge(folio, NULL, gfp))
		return -ENOMEM;
	copy_page(folio_address(folio), rental_address(region, slot));
	flush_dcache_folio(folio);
	__folio_mark_uptodate(folio);
	folio_set_active(folio);
	/* Else it was used meanwhile: who needs the page reads it. */
	if (!rental_replace(mapping, slot->index, rental_make_entry(region, slot),
			    folio))
		return -ENOENT;
	folio_add_lru(folio);
	return 0;
}

/* Whether pages of any kind will do for a file. */
static bool takes_any(struct address_space *mapping)
{
	return !(mapping_gfp_mask(mapping) & (__GFP_DMA | __GFP_DMA32));
}

static int move_page(struct place *place, const struct rental_region *region,
		     const struct rental_slot *slot, struct room *room)
{
	struct address_space *mapping;
	struct folio *folio;
	int error = -EAGAIN;

	if (!go_to(place, slot))
		return -ENOENT;
	folio = folio_from(room);
	if (!folio)
		return -ENOMEM;
	mapping = place->inode->i_mapping;
	if (takes_any(mapping) && filemap_invalidate_trylock_shared(mapping)) {
		error = move_to(mapping, folio, region, slot);
		filemap_invalidate_unlock_shared(mapping);
	}
	if (error)
		folio_clear_active(folio);
	folio_put(folio);
	return error;
}

/**
 * rental_move_active() - move pages that are in use out of memory that will be
 * returned
 * @region: a region
 * @first: first slot, of chunks that take no new copies
 * @last: last slot, inclusive, of the end of a chunk
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
	struct rental_slot *claimed[BATCH];
	struct place place = {};
	struct room room = {};
	unsigned long wanted, most;
	u64 start = ktime_get_ns();
	int error = 0;

	active->moved = 0;
	active->dropped = 0;
	if (!active->pages)
		return;
	wanted = begin_walk(&at);
	most = min(active->pages, wanted);
	room.to_scan = global_node_page_state(NR_INACTIVE_FILE);
	while (active->moved < most && at.next != RENTAL_NO_SLOT && error != -ENOMEM &&
	       ktime_get_ns() - start < active->ns) {
		unsigned int i, nr;

		cond_resched();
		nr = claim(&at, claimed, min(BATCH, most - active->moved));
		if (!nr)
			continue;
		get_room(&room, nr);
		for (i = 0; i < nr && error != -ENOMEM &&
		     ktime_get_ns() - start < active->ns; i++) {
			error = move_page(&place, region, claimed[i], &room);
			active->moved += !error;
			cond_resched();
		}
		release(region, claimed, nr);
	}
	leave(&place);
	leave_room(&room);
	active->dropped = wanted - active->moved;
	rental_count_many(RENTAL_MOVED, active->moved);
	rental_count_many(RENTAL_DROPPED_ACTIVE, active->dropped);
}
