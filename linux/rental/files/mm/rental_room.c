// SPDX-License-Identifier: GPL-2.0-only
/*
 * Room in normal memory for copies that are moved there: the reclaim phase of
 * adaptive activation.
 *
 * Blocks of free memory come first: nothing else takes as little time. Then
 * there is a pass over the inactive file pages, from the oldest on, as far as
 * room is needed, and one more; then over those that were active already, as
 * reclaim would deactivate them. What is not clean, or is mapped, is passed by:
 * nothing waits. So are pages with buffers in the first pass: to free these
 * takes about as long as all else of an eviction. A page that is evicted goes to
 * its next user as it is, and not to the allocator and back: that would take as
 * long as all the rest. After that the lists have what was moved here, or used
 * meanwhile, so there is no more room but single free pages. The shrinkers of
 * slabs are left alone. With the multi-generational LRU, which has other lists,
 * it finds nothing, and reclaim has to.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmzone.h>
#include <linux/pagemap.h>
#include <linux/swap.h>

#include "internal.h"
#include "rental.h"

#define MAKE_ROOM	(GFP_NOIO | __GFP_NORETRY)
#define ROOM_FLAGS	(__GFP_HIGHMEM | __GFP_NOWARN)

/* Flags of pages that cannot be evicted, or are of no file. */
#define NOT_RECLAIMABLE	(BIT(PG_locked) | BIT(PG_dirty) | BIT(PG_writeback) | \
			 BIT(PG_head) | BIT(PG_swapbacked) | BIT(PG_unevictable) | \
			 __PG_MLOCKED | __PG_HWPOISON)

static bool is_reclaimable(const struct folio *folio, unsigned long unwanted)
{
	return !(folio->flags & unwanted) && !folio_mapped(folio) &&
	       !((unsigned long)folio->mapping & PAGE_MAPPING_FLAGS);
}

/* How many pages of which list may still be looked at; NULL if there are none. */
static unsigned long *left_to_scan(struct rental_scan *scan)
{
	if (scan->plain)
		return &scan->plain;
	if (scan->all)
		return &scan->all;
	return scan->active ? &scan->active : NULL;
}

/**
 * rental_may_evict() - whether pages may still be looked at to make room
 * @scan: how many
 */
bool rental_may_evict(const struct rental_scan *scan)
{
	return scan->plain || scan->all || scan->active;
}

/*
 * Takes folios from the end of a list, and looks at twice as many at most; those
 * that will not do go to its head.
 */
static unsigned int isolate(struct lruvec *lruvec, struct folio **found,
			    unsigned int most, struct rental_scan *scan)
{
	unsigned long *to_scan = left_to_scan(scan);
	unsigned long unwanted = NOT_RECLAIMABLE;
	enum lru_list which = LRU_INACTIVE_FILE;
	unsigned int visited = 0, isolated = 0;
	long of_zone[MAX_NR_ZONES] = {};
	struct list_head *lru, *at;
	enum zone_type zone;

	if (to_scan == &scan->plain)
		unwanted |= PAGE_FLAGS_PRIVATE;
	if (to_scan == &scan->active)
		which = LRU_ACTIVE_FILE;
	lru = &lruvec->lists[which];
	spin_lock_irq(&lruvec->lru_lock);
	for (at = lru->prev; at != lru && visited < 2 * most && isolated < most &&
	     visited < *to_scan; visited++) {
		struct folio *folio = list_entry(at, struct folio, lru);

		at = at->prev;
		if (!is_reclaimable(folio, unwanted) || !folio_try_get(folio))
			continue;
		if (!folio_test_clear_lru(folio)) {
			/* Somebody else isolates it. */
			folio_put(folio);
			continue;
		}
		list_del(&folio->lru);
		of_zone[folio_zonenum(folio)]++;
		found[isolated++] = folio;
	}
	/* What was passed by goes to the head. */
	if (at->next != lru)
		list_rotate_to_front(at->next, lru);
	for (zone = 0; zone < MAX_NR_ZONES; zone++)
		if (of_zone[zone])
			update_lru_size(lruvec, which, zone, -of_zone[zone]);
	/* As if all were evicted; put_back() has the others counted again. */
	__mod_lruvec_state(lruvec, NR_FILE_PAGES, -(long)isolated);
	spin_unlock_irq(&lruvec->lru_lock);
	*to_scan -= visited;
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
		if (isolated == most || !left_to_scan(scan)) {
			mem_cgroup_iter_break(NULL, group);
			break;
		}
		group = mem_cgroup_iter(NULL, group, NULL);
	} while (group);
	return isolated;
}

/* Whether a locked folio has nothing of a file system that keeps it there. */
static bool release(struct folio *folio, const struct address_space *mapping)
{
	return (!folio_has_private(folio) && !mapping_release_always(mapping)) ||
	       filemap_release_folio(folio, GFP_NOWAIT);
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
	if (mapping && !mapping->a_ops->free_folio && release(folio, mapping))
		return mapping;
	folio_unlock(folio);
	return NULL;
}

/* The same of another folio, if it is of this file. */
static bool lock_another(struct folio *folio, const struct address_space *mapping)
{
	if (READ_ONCE(folio->mapping) != mapping || !folio_trylock(folio))
		return false;
	if (READ_ONCE(folio->mapping) == mapping && release(folio, mapping))
		return true;
	folio_unlock(folio);
	return false;
}

/*
 * Makes an evicted folio what the allocator could have given. Somebody may wait
 * for its lock without a reference.
 */
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
	lruvec_stat_add_folio(folio, NR_FILE_PAGES);
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
			put_back(folios[begin++]);
			continue;
		}
		while (end < nr && lock_another(folios[end], mapping))
			end++;
		gone = rental_evict(mapping, folios + begin, end - begin);
		for (i = begin; i < begin + gone; i++)
			renew(folios[i]);
		for (; i < end; i++) {
			folio_unlock(folios[i]);
			put_back(folios[i]);
		}
		if (evicted != begin)
			memmove(folios + evicted, folios + begin,
				gone * sizeof(*folios));
		evicted += gone;
		begin = end;
	}
	return evicted;
}

/* Of which blocks pages are taken: movable ones first, as the allocator does. */
static const gfp_t kinds[] = { __GFP_MOVABLE, __GFP_RECLAIMABLE, 0 };

/* Of smaller blocks the allocator takes several at a time, maybe of other kinds. */
#define MIN_ORDER	(PAGE_ALLOC_COSTLY_ORDER + 1)

/*
 * The order of the largest free block of a kind, at most @order, if it is not
 * smaller than @least and memory is not short without it; else a negative number.
 * It may be gone a moment later.
 */
static int free_block(gfp_t kind, int order, int least)
{
	struct zonelist *zones = node_zonelist(numa_mem_id(), ROOM_FLAGS | kind);
	enum zone_type highest = gfp_zone(ROOM_FLAGS | kind);
	int type = gfp_migratetype(kind), larger;
	struct zoneref *at;
	struct zone *zone;

	for_each_zone_zonelist(zone, at, zones, highest) {
		if (!zone_watermark_ok(zone, 0, low_wmark_pages(zone) + (1 << order),
				       highest, 0))
			continue;
		for (larger = MAX_PAGE_ORDER; larger >= least; larger--)
			if (!free_area_empty(&zone->free_area[larger], type))
				return min(larger, order);
	}
	return -1;
}

/*
 * Allocates pages in blocks, without waiting: how many. A page by itself takes
 * about as long as to evict one, and as long again where the allocator finds
 * none of its kind. What it would do then is done before: a block of another
 * kind is used as it is.
 */
static unsigned int allocate_blocks(struct folio **room, unsigned int pages)
{
	unsigned int kind, i, nr = 0;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		gfp_t flags = ROOM_FLAGS | kinds[kind];

		while (pages - nr >= 1 << MIN_ORDER) {
			int order = free_block(kinds[kind], ilog2(pages - nr), MIN_ORDER);
			struct page *block = NULL;

			if (order > 0)
				block = alloc_pages(flags, order);
			if (!block)
				break;
			split_page(block, order);
			for (i = 0; i < 1 << order; i++)
				room[nr++] = page_folio(block + i);
		}
	}
	return nr;
}

/* Allocates pages one by one, without waiting: how many. */
static unsigned int allocate(struct folio **room, unsigned int pages)
{
	/* Of one page each, so a folio is its page. */
	struct page **array = (struct page **)room;
	unsigned int kind, nr;

	memset(room, 0, pages * sizeof(*room));
	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		if (free_block(kinds[kind], ilog2(pages), 0) < 0)
			continue;
		nr = alloc_pages_bulk_array(ROOM_FLAGS | kinds[kind], pages, array);
		if (nr)
			return nr;
	}
	return 0;
}

/* Looks at some pages, and evicts those that were not used for long: how many. */
static unsigned int take_over(struct folio **room, unsigned int pages,
			      struct rental_scan *scan)
{
	unsigned long *to_scan = left_to_scan(scan);
	unsigned long before = *to_scan;
	unsigned int nr = 0;
	int id;

	for_each_node_state(id, N_MEMORY) {
		struct pglist_data *node = NODE_DATA(id);
		unsigned int isolated;

		isolated = isolate_on(node, room + nr, pages - nr, scan);
		mod_node_page_state(node, NR_ISOLATED_FILE, isolated);
		nr += evict_all(room + nr, isolated);
		mod_node_page_state(node, NR_ISOLATED_FILE, -(long)isolated);
		if (nr == pages)
			break;
	}
	/* These lists are empty: all of them were evicted. */
	if (*to_scan == before)
		*to_scan = 0;
	return nr;
}

/**
 * rental_make_room() - get pages: unused ones, or those of clean ones
 * @room: where they are put
 * @pages: how many are needed
 * @scan: how many pages may still be looked at; what was looked at is subtracted
 * @may_reclaim: whether it may take longer
 *
 * It looks at few pages at a time, so there may be more if there are none.
 * Return: how many there are. They are charged to the current task's group.
 */
unsigned int rental_make_room(struct folio **room, unsigned int pages,
			      struct rental_scan *scan, bool may_reclaim)
{
	unsigned int i, charged = 0, nr = 0;

	if (scan->blocks) {
		nr = allocate_blocks(room, pages);
		scan->blocks = nr == pages;
	}
	if (nr < pages && rental_may_evict(scan))
		nr += take_over(room + nr, pages - nr, scan);
	if (!nr && !rental_may_evict(scan))
		nr = allocate(room, pages);
	/* With other lists than those above: a direct reclaim of one pass. */
	if (!nr && lru_gen_enabled() && may_reclaim) {
		room[0] = folio_alloc(MAKE_ROOM | ROOM_FLAGS | __GFP_MOVABLE, 0);
		nr = !!room[0];
	}
	if (mem_cgroup_disabled())
		return nr;
	for (i = 0; i < nr; i++) {
		if (mem_cgroup_charge(room[i], NULL, MAKE_ROOM | __GFP_NOWARN))
			folio_put(room[i]);
		else
			room[charged++] = room[i];
	}
	/* The group has none, however many others there are. */
	if (nr && !charged)
		*scan = (struct rental_scan){};
	return charged;
}
