// SPDX-License-Identifier: GPL-2.0-only
/*
 * Regions of rental memory: what drivers add, rent and return.
 *
 * A return closes chunks and waits for copies that are being made; what was
 * stored is not looked at. So it takes as long for much memory as for little,
 * whether it is full or empty. Renting looks at each slot.
 */
#define pr_fmt(fmt) "rental: " fmt

#include <linux/bitmap.h>
#include <linux/export.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/of.h>
#include <linux/sched.h>
#include <linux/sched/cputime.h>
#include <linux/slab.h>
#include <linux/suspend.h>
#include <linux/vmalloc.h>

#include <trace/events/rental.h>

#include "rental.h"

/* See rental.h. */
DEFINE_MUTEX(rental_mutex);
struct rental_returns rental_returns;

/* Larger than all generations of regions that are gone: of their entries some are left. */
static u32 first_generation;
/* While the machine is being suspended to disk, what is rented is closed. */
static bool suspended;

/* Chunks, the last of which may be a part of one. */
static unsigned long chunks_of(const struct rental_region *region)
{
	return DIV_ROUND_UP(region->nr_slots, RENTAL_CHUNK_SLOTS);
}

/* Which slots a range of bytes has; it consists of whole chunks. */
static int slots_of(const struct rental_region *region, size_t offset,
		    size_t size, unsigned long *first, unsigned long *last)
{
	size_t all = region->nr_slots << PAGE_SHIFT;

	if (!size || offset >= all || size > all - offset)
		return -ERANGE;
	if (offset % RENTAL_CHUNK ||
	    (size % RENTAL_CHUNK && offset + size != all))
		return -EINVAL;
	*first = offset >> PAGE_SHIFT;
	*last = *first + (size >> PAGE_SHIFT) - 1;
	return 0;
}

/* Of a region that nobody knows. */
void rental_free_region(struct rental_region *region)
{
	vfree(region->slots);
	kfree(region->nr_active);
	kfree(region->holes);
	kvfree(region->dirty);
	bitmap_free(region->storing);
	bitmap_free(region->open);
	bitmap_free(region->rented);
	kfree(region);
}

/* A region that nobody knows yet. */
struct rental_region *rental_new_region(const char *name, void *memory,
					unsigned long nr_slots)
{
	struct rental_region *region;
	unsigned long i;

	region = kzalloc(sizeof(*region), GFP_KERNEL);
	if (!region)
		return NULL;
	mutex_init(&region->lock);
	region->name = name;
	region->memory = memory;
	region->nr_slots = nr_slots;
	region->rented = bitmap_zalloc(chunks_of(region), GFP_KERNEL);
	region->open = bitmap_zalloc(chunks_of(region), GFP_KERNEL);
	region->storing = bitmap_zalloc(chunks_of(region), GFP_KERNEL);
	region->dirty = kvcalloc(BITS_TO_LONGS(nr_slots),
				 sizeof(*region->dirty), GFP_KERNEL);
	region->holes = kcalloc(chunks_of(region), sizeof(*region->holes),
				GFP_KERNEL);
	region->nr_active = kcalloc(chunks_of(region),
				    sizeof(*region->nr_active), GFP_KERNEL);
	region->slots = vcalloc(nr_slots, sizeof(*region->slots));
	if (!region->rented || !region->open || !region->storing ||
	    !region->dirty || !region->holes || !region->nr_active ||
	    !region->slots) {
		rental_free_region(region);
		return NULL;
	}
	rental_list_init(&region->free);
	rental_list_init(&region->inactive);
	rental_list_init(&region->active);
	for (i = 0; i < nr_slots; i++)
		region->slots[i].generation = first_generation;
	return region;
}

/**
 * rental_add_region() - memory of a device that may be rented
 * @name: for people, in debugfs; it stays the caller's
 * @start: where it begins: a page, not used for anything else
 * @size: its size in bytes, whole pages; at most 16 GiB
 *
 * Return: the region, of which nothing is rented yet, or an error: -EINVAL for
 * what is not whole pages, -EEXIST if it overlaps another one, -ENOSPC if there
 * are too many, -ENOMEM also where the kernel cannot map it.
 */
struct rental_region *rental_add_region(const char *name, phys_addr_t start,
					size_t size)
{
	unsigned long nr_slots = size >> PAGE_SHIFT;
	struct rental_region *region;
	unsigned int number, unused = RENTAL_REGIONS;
	void *memory;

	if (!nr_slots || nr_slots > RENTAL_MAX_SLOTS || !start ||
	    start + size < start || !PAGE_ALIGNED(start) || !PAGE_ALIGNED(size))
		return ERR_PTR(-EINVAL);
	mutex_lock(&rental_mutex);
	for (number = 0; number < RENTAL_REGIONS; number++) {
		struct rental_region *other = rental_regions[number];

		if (!other) {
			unused = min(unused, number);
			continue;
		}
		if (start < other->start + (other->nr_slots << PAGE_SHIFT) &&
		    other->start < start + size) {
			region = ERR_PTR(-EEXIST);
			goto unlock;
		}
	}
	if (unused == RENTAL_REGIONS) {
		region = ERR_PTR(-ENOSPC);
		goto unlock;
	}
	/* Of ordinary memory this is the linear mapping. */
	memory = memremap(start, size, MEMREMAP_WB);
	region = memory ? rental_new_region(name, memory, nr_slots) : NULL;
	if (!region) {
		if (memory)
			memunmap(memory);
		region = ERR_PTR(-ENOMEM);
		goto unlock;
	}
	region->start = start;
	region->number = unused;
	spin_lock_irq(&rental_lock);
	rental_regions[unused] = region;
	spin_unlock_irq(&rental_lock);
	pr_info("%s has %lu pages at %pa\n", name, nr_slots, &start);
unlock:
	mutex_unlock(&rental_mutex);
	return region;
}
EXPORT_SYMBOL_GPL(rental_add_region);

/* Chunks of slots, the numbers of bits. */
static void clear_chunks(unsigned long *chunks, unsigned long first,
			 unsigned long last)
{
	first /= RENTAL_CHUNK_SLOTS;
	bitmap_clear(chunks, first, last / RENTAL_CHUNK_SLOTS - first + 1);
}

/* After the bit map of chunks that take new copies was changed. */
static void update_stores(struct rental_region *region)
{
	/* What is returned as a whole need not be looked at. */
	bool stores = region->nr_rented &&
		      !bitmap_empty(region->storing, chunks_of(region));

	lockdep_assert_held(&rental_lock);
	rental_storing_regions += stores - region->stores;
	region->stores = stores;
}

/* Whether all, or at least one, of the chunks of these slots are rented. */
static bool all_rented(const struct rental_region *region, unsigned long first,
		       unsigned long last)
{
	unsigned long end = last / RENTAL_CHUNK_SLOTS + 1;

	first /= RENTAL_CHUNK_SLOTS;
	return find_next_zero_bit(region->rented, end, first) >= end;
}

static bool any_rented(const struct rental_region *region, unsigned long first,
		       unsigned long last)
{
	unsigned long end = last / RENTAL_CHUNK_SLOTS + 1;

	first /= RENTAL_CHUNK_SLOTS;
	return find_next_bit(region->rented, end, first) < end;
}

/* Waits for copies that began before now; each is of one page, with preemption off. */
static void wait_for_copies(struct rental_region *region)
{
	unsigned int phase;

	spin_lock_irq(&rental_lock);
	phase = region->phase;
	region->phase = !phase;
	spin_unlock_irq(&rental_lock);
	while (atomic_read_acquire(&region->copies[phase]))
		cpu_relax();
}

/**
 * rental_add_hole() - say what of a region must not be used
 * @region: a region of which nothing is rented
 * @offset: where the hole begins in it, in bytes: a page
 * @size: how large it is, whole pages
 *
 * Return: 0, -EBUSY if a part of the region is rented, -ERANGE if the hole is
 * not inside, -EINVAL if it is not whole pages or nothing would be left.
 */
int rental_add_hole(struct rental_region *region, size_t offset, size_t size)
{
	size_t all = region->nr_slots << PAGE_SHIFT;
	unsigned long i, holes = 0, end;
	int error = 0;

	if (!PAGE_ALIGNED(offset) || !PAGE_ALIGNED(size) || !size)
		return -EINVAL;
	if (offset >= all || size > all - offset)
		return -ERANGE;
	end = (offset + size) >> PAGE_SHIFT;
	mutex_lock(&region->lock);
	for (i = offset >> PAGE_SHIFT; i < end; i++)
		holes += region->slots[i].state != RENTAL_HOLE;
	if (region->nr_rented)
		error = -EBUSY;
	else if (region->nr_holes + holes == region->nr_slots)
		error = -EINVAL;
	else
		region->nr_holes += holes;
	for (i = offset >> PAGE_SHIFT; !error && i < end; i++) {
		struct rental_slot *slot = &region->slots[i];

		spin_lock_irq(&rental_lock);
		if (slot->listed)
			rental_list_del(region, rental_list_of(region, slot),
					slot);
		if (slot->state != RENTAL_HOLE)
			region->holes[i / RENTAL_CHUNK_SLOTS]++;
		slot->state = RENTAL_HOLE;
		/* What is there now is not of a file. */
		clear_bit(i, region->dirty);
		spin_unlock_irq(&rental_lock);
	}
	mutex_unlock(&region->lock);
	return error;
}
EXPORT_SYMBOL_GPL(rental_add_hole);

/*
 * Opens one chunk that is rented and closed: its slots are ready for copies.
 * Entries of earlier copies keep their shadows.
 */
static void open_chunk(struct rental_region *region, unsigned long chunk)
{
	unsigned long i = chunk * RENTAL_CHUNK_SLOTS;
	unsigned long end = min(i + RENTAL_CHUNK_SLOTS, region->nr_slots);

	spin_lock_irq(&rental_lock);
	for (; i < end; i++) {
		struct rental_slot *slot = &region->slots[i];

		if (slot->state == RENTAL_HOLE)
			continue;
		if (slot->listed)
			rental_list_del(region, rental_list_of(region, slot),
					slot);
		slot->state = RENTAL_FREE;
		rental_list_add(region, &region->free, slot);
	}
	__set_bit(chunk, region->open);
	__set_bit(chunk, region->storing);
	update_stores(region);
	spin_unlock_irq(&rental_lock);
}

/* Opens what is rented, and has been closed, of these chunks. */
static void open_rented(struct rental_region *region, unsigned long first,
			unsigned long last)
{
	unsigned long chunk;

	lockdep_assert_held(&region->lock);
	for (chunk = first; chunk <= last; chunk++) {
		if (test_bit(chunk, region->rented) &&
		    !test_bit(chunk, region->open))
			open_chunk(region, chunk);
		cond_resched();
	}
}

/* How many slots are not holes. */
static unsigned long pages_of(const struct rental_region *region,
			      unsigned long first, unsigned long last)
{
	unsigned long chunk, pages = last - first + 1;

	if (!region->nr_holes)
		return pages;
	for (chunk = first / RENTAL_CHUNK_SLOTS;
	     chunk <= last / RENTAL_CHUNK_SLOTS; chunk++)
		pages -= region->holes[chunk];
	return pages;
}

/**
 * rent_memory() - lend memory of a device to the page cache
 * @region: what rental_add_region() returned
 * @offset: where the part begins that is lent, in bytes: whole MiB
 * @size: its size: whole MiB, or up to the end of the region
 * @scrubs: whether what is stored there will be overwritten at its return, by
 *	the driver or with RENTAL_SCRUB_NOW or RENTAL_SCRUB_LATER; otherwise no
 *	page of an encrypted file is stored
 *
 * The device must not use the memory until return_memory().
 * Context: may sleep.
 * Return: 0, -EBUSY if a part of it is lent already, -ERANGE if it is not in the
 * region, -EINVAL if it is not whole MiB or if another part is lent with another
 * @scrubs.
 */
int rent_memory(struct rental_region *region, size_t offset, size_t size,
		bool scrubs)
{
	unsigned long first, last, pages;
	int error;

	error = slots_of(region, offset, size, &first, &last);
	if (error)
		return error;
	static_branch_enable(&rental_used);
	mutex_lock(&region->lock);
	if (any_rented(region, first, last)) {
		error = -EBUSY;
		goto unlock;
	}
	if (region->nr_rented && region->scrubs != scrubs) {
		error = -EINVAL;
		goto unlock;
	}
	pages = pages_of(region, first, last);
	first /= RENTAL_CHUNK_SLOTS;
	last /= RENTAL_CHUNK_SLOTS;
	spin_lock_irq(&rental_lock);
	region->scrubs = scrubs;
	bitmap_set(region->rented, first, last - first + 1);
	region->nr_rented += pages;
	rental_rented_pages += pages;
	spin_unlock_irq(&rental_lock);
	/* Otherwise it is opened when that is over. */
	if (!READ_ONCE(suspended))
		open_rented(region, first, last);
	rental_count(RENTAL_RENTS);
unlock:
	mutex_unlock(&region->lock);
	return error;
}
EXPORT_SYMBOL_GPL(rent_memory);

/* Overwrites what has bytes of files, of chunks that are closed. */
static void scrub(struct rental_region *region, unsigned long first,
		  unsigned long last)
{
	unsigned long i = first, scrubbed = 0;

	lockdep_assert_held(&region->lock);
	for_each_set_bit_from(i, region->dirty, last + 1) {
		clear_page(rental_address(region, &region->slots[i]));
		clear_bit(i, region->dirty);
		if (++scrubbed % RENTAL_CHUNK_SLOTS == 0)
			cond_resched();
	}
	rental_count_many(RENTAL_SCRUBBED, scrubbed);
}

/**
 * return_memory() - give memory back to its device
 * @region: what rental_add_region() returned
 * @offset: where the part begins that is given back: whole MiB
 * @size: its size: whole MiB, or up to the end of the region
 * @how: who overwrites what was stored there
 * @active: how much of the page cache that was in use is moved elsewhere before,
 *	or NULL for nothing
 *
 * When it returns, nobody but the device uses the memory. Without @how being
 * RENTAL_SCRUB_NOW and without @active it takes as long for all sizes.
 * Context: may sleep.
 * Return: 0, -EINVAL if a part of it was not lent, or is not whole MiB, -ERANGE
 * if it is not in the region.
 */
int return_memory(struct rental_region *region, size_t offset, size_t size,
		  enum rental_scrub how, struct rental_active *active)
{
	unsigned long first, last, pages;
	u64 begin, ns, cpu_begin, cpu_ns;
	int error;

	error = slots_of(region, offset, size, &first, &last);
	if (error)
		return error;
	mutex_lock(&region->lock);
	if (!all_rented(region, first, last)) {
		mutex_unlock(&region->lock);
		return -EINVAL;
	}
	if (active) {
		begin = ktime_get_ns();
		cpu_begin = task_sched_runtime(current);
		spin_lock_irq(&rental_lock);
		clear_chunks(region->storing, first, last);
		update_stores(region);
		spin_unlock_irq(&rental_lock);
		rental_move_active(region, first, last, active);
		ns = ktime_get_ns() - begin;
		cpu_ns = task_sched_runtime(current) - cpu_begin;
		spin_lock_irq(&rental_lock);
		rental_returns.active_max_ns = max(rental_returns.active_max_ns, ns);
		rental_returns.active_cpu_ns += cpu_ns;
		spin_unlock_irq(&rental_lock);
	}
	begin = ktime_get_ns();
	pages = pages_of(region, first, last);
	spin_lock_irq(&rental_lock);
	clear_chunks(region->storing, first, last);
	clear_chunks(region->open, first, last);
	clear_chunks(region->rented, first, last);
	region->nr_rented -= pages;
	rental_rented_pages -= pages;
	update_stores(region);
	spin_unlock_irq(&rental_lock);
	wait_for_copies(region);
	ns = ktime_get_ns() - begin;
	spin_lock_irq(&rental_lock);
	rental_returns.last_ns = ns;
	rental_returns.max_ns = max(rental_returns.max_ns, ns);
	rental_returns.sum_ns += ns;
	spin_unlock_irq(&rental_lock);
	rental_count(RENTAL_RETURNS);
	trace_rental_return(region->name, offset, size, ns);
	if (how == RENTAL_SCRUB_NOW) {
		cpu_begin = task_sched_runtime(current);
		scrub(region, first, last);
		cpu_ns = task_sched_runtime(current) - cpu_begin;
		spin_lock_irq(&rental_lock);
		rental_returns.scrub_cpu_ns += cpu_ns;
		spin_unlock_irq(&rental_lock);
	}
	mutex_unlock(&region->lock);
	return 0;
}
EXPORT_SYMBOL_GPL(return_memory);

/**
 * rental_scrub() - overwrite what was stored in a part of returned memory
 * @region: a region
 * @offset: where the part begins, in bytes; rounded down to a page
 * @size: its size; rounded up
 *
 * For drivers that returned it with RENTAL_SCRUB_LATER, before the device or
 * anybody else writes there: it does not know what they wrote. What has been
 * overwritten by it before, or is outside of the region, is left out.
 * Context: may sleep.
 */
void rental_scrub(struct rental_region *region, size_t offset, size_t size)
{
	unsigned long first = offset >> PAGE_SHIFT;
	unsigned long last = (offset + size - 1) >> PAGE_SHIFT;

	if (!size || first >= region->nr_slots)
		return;
	mutex_lock(&region->lock);
	last = min(last, region->nr_slots - 1);
	if (!WARN_ON_ONCE(any_rented(region, first, last)))
		scrub(region, first, last);
	mutex_unlock(&region->lock);
}
EXPORT_SYMBOL_GPL(rental_scrub);

/* Lets no copy of a region be used or made any more. */
static void close_all(struct rental_region *region)
{
	lockdep_assert_held(&region->lock);
	spin_lock_irq(&rental_lock);
	bitmap_zero(region->storing, chunks_of(region));
	update_stores(region);
	bitmap_zero(region->open, chunks_of(region));
	spin_unlock_irq(&rental_lock);
	wait_for_copies(region);
}

/* Drops all copies; what is rented stays so. */
void rental_drop_all(void)
{
	unsigned int number;

	mutex_lock(&rental_mutex);
	for (number = 0; number < RENTAL_REGIONS; number++) {
		struct rental_region *region = rental_regions[number];

		if (!region)
			continue;
		mutex_lock(&region->lock);
		close_all(region);
		if (!suspended)
			open_rented(region, 0, chunks_of(region) - 1);
		mutex_unlock(&region->lock);
	}
	mutex_unlock(&rental_mutex);
}

/**
 * rental_remove_region() - forget a region
 * @region: what rental_add_region() returned
 *
 * What of it is rented is given back first, and overwritten.
 * Context: may sleep.
 */
void rental_remove_region(struct rental_region *region)
{
	unsigned long i, chunk;

	mutex_lock(&rental_mutex);
	mutex_lock(&region->lock);
	close_all(region);
	for_each_set_bit(chunk, region->rented, chunks_of(region))
		scrub(region, chunk * RENTAL_CHUNK_SLOTS,
		      min((chunk + 1) * RENTAL_CHUNK_SLOTS, region->nr_slots) - 1);
	for (i = 0; i < region->nr_slots; i++)
		first_generation = max(first_generation,
				       region->slots[i].generation + 1);
	spin_lock_irq(&rental_lock);
	rental_rented_pages -= region->nr_rented;
	rental_regions[region->number] = NULL;
	spin_unlock_irq(&rental_lock);
	mutex_unlock(&region->lock);
	mutex_unlock(&rental_mutex);
	if (region->start)
		memunmap(region->memory);
	of_node_put(region->node);
	rental_free_region(region);
}
EXPORT_SYMBOL_GPL(rental_remove_region);

#ifdef CONFIG_HIBERNATION
/* What the image has of rented memory may be older than the disk it is used with. */
static int rental_pm(struct notifier_block *block, unsigned long what,
		     void *unused)
{
	unsigned int number;

	if (what != PM_HIBERNATION_PREPARE && what != PM_POST_HIBERNATION)
		return NOTIFY_OK;
	mutex_lock(&rental_mutex);
	WRITE_ONCE(suspended, what == PM_HIBERNATION_PREPARE);
	for (number = 0; number < RENTAL_REGIONS; number++) {
		struct rental_region *region = rental_regions[number];

		if (!region)
			continue;
		mutex_lock(&region->lock);
		if (suspended)
			close_all(region);
		else
			open_rented(region, 0, chunks_of(region) - 1);
		mutex_unlock(&region->lock);
	}
	mutex_unlock(&rental_mutex);
	return NOTIFY_OK;
}

static int __init rental_pm_init(void)
{
	static struct notifier_block block = { .notifier_call = rental_pm };

	return register_pm_notifier(&block);
}
late_initcall(rental_pm_init);
#endif
