// SPDX-License-Identifier: GPL-2.0-only
/*
 * Room in normal memory for copies that are moved there: the reclaim phase of
 * adaptive activation.
 *
 * One pass over the inactive file pages, from the oldest on, as far as room is
 * needed. What is not clean, or is mapped, is passed by: nothing waits. The
 * shrinkers of slabs are left alone, which is what makes this cheaper than a
 * direct reclaim for each few pages. With the multi-generational LRU, which has
 * other lists, it finds nothing.
 */
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/mmzone.h>
#include <linux/sched/mm.h>
#include <linux/swap.h>

#include "internal.h"
#include "rental.h"

/* With interrupts off, so many pages are looked at. */
#define MOST_VISITED	64

static bool is_reclaimable(const struct folio *folio)
{
	return !folio_test_large(folio) && !folio_test_dirty(folio) &&
	       !folio_test_writeback(folio) && !folio_mapped(folio);
}

/* Takes folios from the end of a list; those that will not do go to its head. */
static unsigned long isolate(struct lruvec *lruvec, struct list_head *found,
			     unsigned long most, unsigned long *to_scan)
{
	struct list_head *lru = &lruvec->lists[LRU_INACTIVE_FILE];
	unsigned long isolated = 0;
	unsigned int visited;
	LIST_HEAD(passed_by);

	spin_lock_irq(&lruvec->lru_lock);
	for (visited = 0; visited < MOST_VISITED && isolated < most &&
	     *to_scan && !list_empty(lru); visited++) {
		struct folio *folio = lru_to_folio(lru);

		--*to_scan;
		if (!is_reclaimable(folio) || !folio_try_get(folio)) {
			list_move(&folio->lru, &passed_by);
			continue;
		}
		if (!folio_test_clear_lru(folio)) {
			/* Somebody else isolates it. */
			folio_put(folio);
			list_move(&folio->lru, &passed_by);
			continue;
		}
		lruvec_del_folio(lruvec, folio);
		list_add(&folio->lru, found);
		isolated++;
	}
	list_splice(&passed_by, lru);
	spin_unlock_irq(&lruvec->lru_lock);
	return isolated;
}

/* The same of the lists of all memory control groups on a node. */
static unsigned long isolate_on(struct pglist_data *node, struct list_head *found,
				unsigned long most, unsigned long *to_scan)
{
	struct mem_cgroup *group = mem_cgroup_iter(NULL, NULL, NULL);
	unsigned long isolated = 0;

	do {
		struct lruvec *lruvec = mem_cgroup_lruvec(group, node);

		/* What a group was promised stays. */
		mem_cgroup_calculate_protection(NULL, group);
		if (!mem_cgroup_below_min(NULL, group))
			isolated += isolate(lruvec, found, most - isolated, to_scan);
		if (isolated == most) {
			mem_cgroup_iter_break(NULL, group);
			break;
		}
		group = mem_cgroup_iter(NULL, group, NULL);
	} while (group);
	return isolated;
}

/* Of folios that were isolated, those that were not freed. */
static void put_back(struct list_head *folios)
{
	struct folio *folio, *next;

	list_for_each_entry_safe(folio, next, folios, lru) {
		list_del(&folio->lru);
		node_stat_mod_folio(folio, NR_ISOLATED_FILE, -1);
		folio_putback_lru(folio);
	}
}

/* Whether a zone has so many pages more than its watermark. */
static bool has_room(enum zone_watermarks mark, unsigned long pages)
{
	struct zonelist *zones = node_zonelist(numa_mem_id(), GFP_HIGHUSER_MOVABLE);
	struct zoneref *at;
	struct zone *zone;

	for_each_zone_zonelist(zone, at, zones, gfp_zone(GFP_HIGHUSER_MOVABLE))
		if (zone_watermark_ok(zone, 0, wmark_pages(zone, mark) + pages,
				      zone_idx(zone), 0))
			return true;
	return false;
}

static unsigned long make_room(unsigned long pages, unsigned long *to_scan)
{
	unsigned int no_io = memalloc_noio_save();
	unsigned long freed = 0;
	int id;

	for_each_node_state(id, N_MEMORY) {
		struct pglist_data *node = NODE_DATA(id);
		unsigned long before, isolated;

		do {
			LIST_HEAD(found);

			before = *to_scan;
			isolated = isolate_on(node, &found, pages - freed, to_scan);
			mod_node_page_state(node, NR_ISOLATED_FILE, isolated);
			/* Any zone of the node names the node. */
			freed += reclaim_clean_pages_from_list(&node->node_zones[0],
							       &found);
			put_back(&found);
			cond_resched();
		} while (freed < pages && *to_scan != before);
	}
	memalloc_noio_restore(no_io);
	return freed;
}

/**
 * rental_make_room() - free inactive, clean pages if memory is short
 * @pages: how many pages are needed
 * @to_scan: how many pages may still be looked at; what was looked at is
 *	subtracted
 *
 * What it frees is in the lists of this processor, from which the next
 * allocations are served: what the zone has besides may be of another mobility.
 * But these lists do not count for watermarks, below which each allocation
 * would take a slower path.
 */
void rental_make_room(unsigned long pages, unsigned long *to_scan)
{
	if (has_room(WMARK_HIGH, pages))
		return;
	while (make_room(pages, to_scan) && !has_room(WMARK_LOW, pages)) {
		preempt_disable();
		drain_local_pages(NULL);
		preempt_enable();
	}
}
