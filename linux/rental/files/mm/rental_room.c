// SPDX-License-Identifier: GPL-2.0-only
/*
 * Room in normal memory for copies that are moved there: the reclaim phase of
 * adaptive activation.
 *
 * A pass over the inactive file pages, from the oldest on, as far as room is
 * needed, and one more; then over the older half of the active ones, which
 * reclaim would make inactive now. What is not clean, or is mapped, is passed
 * by: nothing waits. So are pages with buffers in the first pass: to free these
 * takes about as long as all else of an eviction. A page
 * that is evicted goes to its next user as it is, and not to the allocator and
 * back: that would take as long as all the rest. The shrinkers of slabs are
 * left alone. With the multi-generational LRU, which has other lists, it finds
 * nothing.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmzone.h>
#include <linux/pagemap.h>
#include <linux/swap.h>

#include "internal.h"
#include "rental.h"

/* With interrupts off, so many pages are looked at. */
#define MOST_VISITED	64

#define MAKE_ROOM	(GFP_NOIO | __GFP_NORETRY)
#define ROOM_FLAGS	(__GFP_HIGHMEM | __GFP_MOVABLE | __GFP_NOWARN)

/* Flags of pages that cannot be evicted, or are of no file. */
#define NOT_RECLAIMABLE	(BIT(PG_locked) | BIT(PG_dirty) | BIT(PG_writeback) | \
			 BIT(PG_head) | BIT(PG_swapbacked) | BIT(PG_unevictable) | \
			 __PG_MLOCKED | __PG_HWPOISON)

static bool is_reclaimable(const struct folio *folio, unsigned long unwanted)
{
	return !(folio->flags & unwanted) && !folio_mapped(folio) &&
	       !((unsigned long)folio->mapping & PAGE_MAPPING_FLAGS);
}

/* Takes folios from the end of a list; those that will not do go to its head. */
static unsigned int isolate(struct lruvec *lruvec, struct folio **found,
			    unsigned int most, struct rental_scan *scan)
{
	enum lru_list which = LRU_INACTIVE_FILE;
	unsigned long unwanted = NOT_RECLAIMABLE;
	unsigned long *to_scan = &scan->all;
	struct list_head *lru;
	unsigned int visited, isolated = 0;
	long of_zone[MAX_NR_ZONES] = {};
	LIST_HEAD(passed_by);
	enum zone_type zone;

	if (scan->plain) {
		to_scan = &scan->plain;
		unwanted |= PAGE_FLAGS_PRIVATE;
	} else if (!scan->all) {
		to_scan = &scan->active;
		which = LRU_ACTIVE_FILE;
	}
	lru = &lruvec->lists[which];
	spin_lock_irq(&lruvec->lru_lock);
	for (visited = 0; visited < MOST_VISITED && isolated < most &&
	     *to_scan && !list_empty(lru); visited++) {
		struct folio *folio = lru_to_folio(lru);

		--*to_scan;
		if (!is_reclaimable(folio, unwanted) || !folio_try_get(folio)) {
			list_move(&folio->lru, &passed_by);
			continue;
		}
		if (!folio_test_clear_lru(folio)) {
			/* Somebody else isolates it. */
			folio_put(folio);
			list_move(&folio->lru, &passed_by);
			continue;
		}
		list_del(&folio->lru);
		of_zone[folio_zonenum(folio)]++;
		found[isolated++] = folio;
	}
	list_splice(&passed_by, lru);
	for (zone = 0; zone < MAX_NR_ZONES; zone++)
		if (of_zone[zone])
			update_lru_size(lruvec, which, zone, -of_zone[zone]);
	spin_unlock_irq(&lruvec->lru_lock);
	return isolated;
}

/* The same of the lists of all memory control groups on a node. */
static unsigned int isolate_on(struct pglist_data *node, struct folio **found,
			       unsigned int most, struct rental_scan *scan)
{
	struct mem_cgroup *group = mem_cgroup_iter(NULL, NULL, NULL);
	unsigned int isolated = 0;

	do {
		struct lruvec *lruvec = mem_cgroup_lruvec(group, node);

		/* What a group was promised stays. */
		mem_cgroup_calculate_protection(NULL, group);
		if (!mem_cgroup_below_min(NULL, group))
			isolated += isolate(lruvec, found + isolated,
					    most - isolated, scan);
		if (isolated == most) {
			mem_cgroup_iter_break(NULL, group);
			break;
		}
		group = mem_cgroup_iter(NULL, group, NULL);
	} while (group);
	return isolated;
}

/*
 * The file of an isolated folio, which is locked then; NULL if it cannot be
 * evicted.
 */
static struct address_space *lock_folio(struct folio *folio)
{
	struct address_space *mapping;

	if (!folio_trylock(folio))
		return NULL;
	mapping = READ_ONCE(folio->mapping);
	/* Who is told of each page that goes needs it as it was. */
	if (mapping && !mapping->a_ops->free_folio &&
	    ((!folio_has_private(folio) && !mapping_release_always(mapping)) ||
	     filemap_release_folio(folio, GFP_NOWAIT)))
		return mapping;
	folio_unlock(folio);
	return NULL;
}

/* Makes an evicted folio what the allocator could have given. */
static void renew(struct folio *folio)
{
	folio_unlock(folio);
	mem_cgroup_uncharge(folio);
	folio->flags &= ~PAGE_FLAGS_CHECK_AT_PREP;
	folio->private = NULL;
	folio_ref_unfreeze(folio, 1);
}

static void put_back(struct folio *folio)
{
	folio_unlock(folio);
	folio_putback_lru(folio);
}

/*
 * Evicts folios that were isolated, or puts them back: how many were evicted.
 * They come first then. Those of one file are often in a row.
 */
static unsigned int evict_all(struct folio **folios, unsigned int nr)
{
	unsigned int i, evicted = 0, begin = 0;

	while (begin < nr) {
		struct address_space *mapping = lock_folio(folios[begin]);
		unsigned int end = begin + 1, gone;

		if (!mapping) {
			folio_putback_lru(folios[begin++]);
			continue;
		}
		while (end < nr && folios[end]->mapping == mapping &&
		       lock_folio(folios[end]))
			end++;
		gone = rental_evict(mapping, folios + begin, end - begin);
		for (i = begin; i < begin + gone; i++) {
			renew(folios[i]);
			folios[evicted++] = folios[i];
		}
		for (; i < end; i++)
			put_back(folios[i]);
		begin = end;
	}
	return evicted;
}

/* Whether so many pages can be allocated and memory is not short then. */
static bool has_room(unsigned long pages)
{
	struct zonelist *zones = node_zonelist(numa_mem_id(), GFP_HIGHUSER_MOVABLE);
	struct zoneref *at;
	struct zone *zone;

	for_each_zone_zonelist(zone, at, zones, gfp_zone(GFP_HIGHUSER_MOVABLE))
		if (zone_watermark_ok(zone, 0, high_wmark_pages(zone) + pages,
				      zone_idx(zone), 0))
			return true;
	return false;
}

static unsigned long left_to_scan(const struct rental_scan *scan)
{
	return scan->plain + scan->all + scan->active;
}

/* Evicts inactive and clean pages: how many. */
static unsigned int take_over(struct folio **room, unsigned int pages,
			      struct rental_scan *scan)
{
	unsigned int nr = 0;
	int id;

	for_each_node_state(id, N_MEMORY) {
		struct pglist_data *node = NODE_DATA(id);
		unsigned long before;

		do {
			unsigned int isolated;

			before = left_to_scan(scan);
			isolated = isolate_on(node, room + nr, pages - nr, scan);
			mod_node_page_state(node, NR_ISOLATED_FILE, isolated);
			nr += evict_all(room + nr, isolated);
			mod_node_page_state(node, NR_ISOLATED_FILE, -(long)isolated);
			if (nr < pages)
				cond_resched();
		} while (nr < pages && left_to_scan(scan) != before);
	}
	return nr;
}

/* Allocates pages without waiting: how many. */
static unsigned int allocate(struct folio **room, unsigned int pages)
{
	/* Of one page each, so a folio is its page. */
	struct page **array = (struct page **)room;

	memset(room, 0, pages * sizeof(*room));
	return alloc_pages_bulk_array(GFP_NOWAIT | ROOM_FLAGS, pages, array);
}

/**
 * rental_make_room() - get pages, those of clean ones where memory is short
 * @room: where they are put
 * @pages: how many are needed now
 * @more: how many are needed in all
 * @scan: how many pages may still be looked at; what was looked at is subtracted
 *
 * Return: how many there are. They are charged to the current task's group.
 */
unsigned int rental_make_room(struct folio **room, unsigned int pages,
			      unsigned long more, struct rental_scan *scan)
{
	unsigned int i, charged = 0, nr = 0;

	/* To allocate a page takes longer than to evict one. */
	if (left_to_scan(scan) && !has_room(more))
		nr = take_over(room, pages, scan);
	if (!nr)
		nr = allocate(room, pages);
	/* Others have to go: a direct reclaim of one pass. */
	if (!nr) {
		room[0] = folio_alloc(MAKE_ROOM | ROOM_FLAGS, 0);
		nr = !!room[0];
	}
	for (i = 0; i < nr; i++) {
		if (mem_cgroup_charge(room[i], NULL, MAKE_ROOM | __GFP_NOWARN))
			folio_put(room[i]);
		else
			room[charged++] = room[i];
	}
	return charged;
}
