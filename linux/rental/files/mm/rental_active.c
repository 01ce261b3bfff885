// SPDX-License-Identifier: GPL-2.0-only
/*
 * Adaptive activation: what of rented memory was in use is moved to other
 * memory before it is returned, as far as there is room and time.
 *
 * Room is made of clean pages that were not used for long, a few at a time and
 * only as long as it is needed. What does not fit is dropped, as it would be without this.
 *
 * What is moved is found in the list of active copies, the newest first: copies
 * that are not active are not looked at. A folio takes the place of its copy's
 * entry without the page cache being asked for the page: no refault is counted.
 */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/memcontrol.h>
#include <linux/mm_inline.h>
#include <linux/pagemap.h>
#include <linux/rcupdate.h>
#include <linux/swap.h>

#include "internal.h"
#include "rental.h"

/* With interrupts off, so many slots are looked at. */
#define MOST_VISITED	128

/* So many pages are moved in a row, at most; room for them is made at once. */
#define BATCH		64

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
	struct rental_list *list = &region->active;
	unsigned int visited, nr = 0;
	u32 kept = RENTAL_NO_SLOT;

	spin_lock_irq(&rental_lock);
	if (at->next != RENTAL_NO_SLOT) {
		struct rental_slot *slot = &region->slots[at->next];

		/* It was used meanwhile: from the newest on, once more. */
		if (!is_active_copy(slot) || slot->generation != at->generation)
			at->next = list->last;
	}
	if (at->next != RENTAL_NO_SLOT)
		kept = region->slots[at->next].next;
	for (visited = 0; at->next != RENTAL_NO_SLOT && visited < MOST_VISITED &&
	     nr < most; visited++) {
		u32 number = at->next;
		struct rental_slot *slot = &region->slots[number];

		at->next = slot->prev;
		if (number - at->first > at->last - at->first ||
		    slot->users == U8_MAX) {
			/* Those between were claimed. */
			rental_list_join(region, list, number, kept);
			kept = number;
			continue;
		}
		slot->state = RENTAL_BUSY;
		slot->listed = 0;
		slot->users++;
		region->nr_active[number / RENTAL_CHUNK_SLOTS]--;
		claimed[nr++] = slot;
	}
	if (nr)
		rental_list_join(region, list, at->next, kept);
	point_to(at, at->next);
	spin_unlock_irq(&rental_lock);
	return nr;
}

static void release(struct rental_region *region, struct rental_slot **claimed,
		    unsigned int nr)
{
	unsigned int i;

	spin_lock_irq(&rental_lock);
	for (i = 0; i < nr; i++) {
		/* Nobody needs it in a list: its chunk is being returned. */
		if (!--claimed[i]->users)
			claimed[i]->state = RENTAL_FREE;
	}
	spin_unlock_irq(&rental_lock);
}

/* Copies that are moved, and where to. */
struct move {
	struct rental_region *region;
	struct super_block *sb;
	/* Unused pages; behind them those of them that were used in this round. */
	struct folio *room[BATCH];
	unsigned int nr_room;
	struct rental_scan scan;
	u64 start;
	u64 ns;
};

/* So near the end nothing is begun that could take until long after it. */
#define NEAR_NS		(4 * NSEC_PER_MSEC)

/* Moving a page takes less, with its room: a third of it is a copy. */
#define PAGE_NS		(4 * NSEC_PER_USEC)

static u64 time_left(const struct move *move)
{
	u64 ns = ktime_get_ns() - move->start;

	return ns < move->ns ? move->ns - ns : 0;
}

/*
 * How many pages are moved before the clock is looked at again. To do that for
 * each page takes a tenth of the time of a copy.
 */
static unsigned int pages_in(u64 ns)
{
	return clamp(div_u64(ns, PAGE_NS), 1, BATCH);
}

static void leave_super(struct move *move)
{
	if (move->sb)
		drop_super(move->sb);
	move->sb = NULL;
}

/* Whether the file system of a copy is there, and stays until leave_super(). */
static bool go_to_super(struct move *move, const struct rental_slot *slot)
{
	if (move->sb && move->sb->s_dev != slot->device)
		leave_super(move);
	if (!move->sb)
		move->sb = try_get_super(slot->device);
	return move->sb;
}

/* How many of these copies, from the first one on, are of one file. */
static unsigned int count_of_file(struct rental_slot **slots, unsigned int nr)
{
	unsigned int i = 1;

	while (i < nr && slots[i]->ino == slots[0]->ino &&
	       slots[i]->device == slots[0]->device)
		i++;
	return i;
}

/* Whether pages of any kind will do for a file. */
static bool takes_any(struct address_space *mapping)
{
	return !(mapping_gfp_mask(mapping) & (__GFP_DMA | __GFP_DMA32));
}

/*
 * Moves copies of one file to the last of the unused pages. It takes no
 * reference to the inode, as that could become the last one, whose iput() may
 * wait for the disk. An inode that is evicted meanwhile loses these pages with
 * its others, or is marked as exiting and gets none; its memory stays until
 * rcu_read_unlock().
 */
static void move_of_file(struct move *move, struct rental_slot **slots,
			 unsigned int nr)
{
	struct folio **folios = move->room + move->nr_room - nr;
	struct inode *inode = find_inode_by_ino_rcu(move->sb, slots[0]->ino);
	struct address_space *mapping;
	unsigned int i;

	if (!inode)
		return;
	mapping = inode->i_mapping;
	if (!takes_any(mapping) || !filemap_invalidate_trylock_shared(mapping))
		return;
	for (i = 0; i < nr; i++) {
		copy_page(folio_address(folios[i]),
			  rental_address(move->region, slots[i]));
		flush_dcache_folio(folios[i]);
	}
	move->nr_room -= rental_replace(mapping, move->region, slots, folios, nr);
	filemap_invalidate_unlock_shared(mapping);
}

/*
 * Puts pages of one list of active pages and zone there, the first of those
 * given: how many.
 */
static unsigned int add_to_list(struct folio **folios, unsigned int nr)
{
	struct lruvec *lruvec = folio_lruvec_lock_irq(folios[0]);
	enum zone_type zone = folio_zonenum(folios[0]);
	unsigned int i;

	for (i = 0; i < nr; i++) {
		struct folio *folio = folios[i];

		/* Those files are evictable; but it can have been mapped by now. */
		if (folio_test_mlocked(folio) || folio_zonenum(folio) != zone ||
		    !folio_matches_lruvec(folio, lruvec))
			break;
		list_add(&folio->lru, &lruvec->lists[LRU_ACTIVE_FILE]);
		folio_set_lru(folio);
	}
	update_lru_size(lruvec, LRU_ACTIVE_FILE, zone, i);
	__mod_lruvec_state(lruvec, NR_FILE_PAGES, i);
	unlock_page_lruvec_irq(lruvec);
	return i;
}

/* Puts pages that files have got a moment ago into lists, where reclaim finds them. */
static void add_to_lru(struct folio **folios, unsigned int nr)
{
	unsigned int i = 0;

	while (i < nr) {
		if (!lru_gen_enabled())
			i += add_to_list(folios + i, nr - i);
		if (i == nr)
			break;
		/* It is in another list, or needs to be looked at. */
		lruvec_stat_add_folio(folios[i], NR_FILE_PAGES);
		folio_add_lru(folios[i++]);
	}
	for (i = 0; i < nr; i++)
		folio_put(folios[i]);
}

/* Moves copies, for each of which there is a page: how many. */
static unsigned int move_all(struct move *move, struct rental_slot **slots,
			     unsigned int nr)
{
	unsigned int i, end, before = move->nr_room;

	for (i = 0; i < nr; i = end) {
		end = i + count_of_file(slots + i, nr - i);
		if (!go_to_super(move, slots[i]))
			continue;
		rcu_read_lock();
		move_of_file(move, slots + i, end - i);
		rcu_read_unlock();
	}
	add_to_lru(move->room + move->nr_room, before - move->nr_room);
	return before - move->nr_room;
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
	struct move move = {
		.region = region,
		.start = ktime_get_ns(),
		.ns = active->ns,
	};
	struct rental_slot *claimed[BATCH];
	unsigned long wanted, most;
	u64 left;

	active->moved = 0;
	active->dropped = 0;
	if (!active->pages)
		return;
	wanted = begin_walk(&at);
	most = min(active->pages, wanted);
	move.scan.blocks = true;
	move.scan.plain = global_node_page_state(NR_INACTIVE_FILE);
	move.scan.all = move.scan.plain;
	move.scan.active = global_node_page_state(NR_ACTIVE_FILE);
	while (active->moved < most && at.next != RENTAL_NO_SLOT &&
	       (left = time_left(&move))) {
		unsigned int nr = min(pages_in(left), most - active->moved);
		bool is_near = left < NEAR_NS;

		/* Others would have to go on for long, too. */
		if (!is_near)
			cond_resched();
		if (move.nr_room < nr)
			move.nr_room += rental_make_room(move.room + move.nr_room,
							 nr - move.nr_room,
							 &move.scan, !is_near);
		if (move.nr_room <= nr / 2 && rental_may_evict(&move.scan))
			continue;
		if (!move.nr_room)
			break;
		nr = claim(&at, claimed, min(nr, move.nr_room));
		active->moved += move_all(&move, claimed, nr);
		release(region, claimed, nr);
	}
	leave_super(&move);
	while (move.nr_room)
		folio_put(move.room[--move.nr_room]);
	active->dropped = wanted - active->moved;
	rental_count_many(RENTAL_MOVED, active->moved);
	rental_count_many(RENTAL_DROPPED_ACTIVE, active->dropped);
}
