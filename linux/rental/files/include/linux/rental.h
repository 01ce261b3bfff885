/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rental memory: copies of clean, evicted page cache in memory of a device
 * that does not use it.
 *
 * A copy is reached only through the value entry that the eviction of its folio
 * left in i_pages, where a shadow entry would be; the shadow entry is kept with
 * the copy. So an index never has both a folio and a copy, and whatever empties
 * a range of i_pages empties it of copies as well.
 */
#ifndef _LINUX_RENTAL_H
#define _LINUX_RENTAL_H

#include <linux/fs.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct device_node;
struct folio;
struct iov_iter;
struct rental_region;

/**
 * enum rental_scrub - who overwrites what was stored in memory that is returned
 * @RENTAL_SCRUB_NONE: nobody. The device overwrites all of it before anybody
 *	reads it, and it is not mapped to user space before that.
 * @RENTAL_SCRUB_NOW: return_memory(), before it returns.
 * @RENTAL_SCRUB_LATER: the driver, with rental_scrub() before the device or
 *	anybody else writes there.
 */
enum rental_scrub {
	RENTAL_SCRUB_NONE,
	RENTAL_SCRUB_NOW,
	RENTAL_SCRUB_LATER,
};

/**
 * struct rental_active - how much of the stored page cache a return keeps
 * @pages: at most so many pages; 0 keeps nothing
 * @ns: for at most so long, and the time for one more page
 * @moved: set to how many pages were moved
 * @dropped: set to how many that had been active were not
 *
 * Pages that were active when they were evicted, or were read since, are moved
 * to other memory, the last used first, in place of clean pages there that were
 * not used for longer.
 */
struct rental_active {
	unsigned long pages;
	u64 ns;
	unsigned long moved;
	unsigned long dropped;
};

/* Whether a file has pages in memory, or copies of some. */
static inline bool mapping_has_pages(const struct address_space *mapping)
{
	return mapping->nrpages ||
	       (IS_ENABLED(CONFIG_RENTAL) && !xa_empty(&mapping->i_pages));
}

#ifdef CONFIG_RENTAL

/* A shadow entry has a bit less than it would have: workingset.c. */
#define RENTAL_SHIFT	1
#define RENTAL_ENTRY	(1UL << (BITS_PER_XA_VALUE - 1))

static inline bool rental_entry(const void *entry)
{
	return xa_is_value(entry) && (xa_to_value(entry) & RENTAL_ENTRY);
}

/* For the page cache. */
void *rental_store(struct folio *folio, void *shadow);
void *rental_take(void *entry, struct folio *folio);
void *rental_shadow(void *entry);
bool rental_present(void *entry);
size_t rental_read(struct kiocb *iocb, struct iov_iter *iter);
void rental_overwrite(struct address_space *mapping, loff_t position, size_t size);
void rental_forget(struct address_space *mapping, pgoff_t first, pgoff_t last);
void rental_exclude(struct address_space *mapping, pgoff_t first, pgoff_t last);
void rental_include(struct address_space *mapping);
unsigned long rental_dirtyable_pages(void);

/* For drivers. */
struct rental_region *rental_add_region(const char *name, phys_addr_t start,
					size_t size);
void rental_remove_region(struct rental_region *region);
struct rental_region *rental_reserved_region(const char *name, bool scrubs);
struct rental_region *rental_device_region(const struct device_node *device,
					   int index, bool scrubs);
void rental_region_range(const struct rental_region *region, phys_addr_t *start,
			 size_t *size);
int rental_add_hole(struct rental_region *region, size_t offset, size_t size);
int rent_memory(struct rental_region *region, size_t offset, size_t size,
		bool scrubs);
int return_memory(struct rental_region *region, size_t offset, size_t size,
		  enum rental_scrub scrub, struct rental_active *active);
void rental_scrub(struct rental_region *region, size_t offset, size_t size);

#else

#define RENTAL_SHIFT	0

static inline bool rental_entry(const void *entry)
{
	return false;
}

static inline void *rental_store(struct folio *folio, void *shadow)
{
	return shadow;
}

static inline void *rental_take(void *entry, struct folio *folio)
{
	return entry;
}

static inline void *rental_shadow(void *entry)
{
	return entry;
}

static inline bool rental_present(void *entry)
{
	return false;
}

static inline size_t rental_read(struct kiocb *iocb, struct iov_iter *iter)
{
	return 0;
}

static inline void rental_overwrite(struct address_space *mapping,
				    loff_t position, size_t size)
{
}

static inline void rental_forget(struct address_space *mapping, pgoff_t first,
				 pgoff_t last)
{
}

static inline void rental_exclude(struct address_space *mapping, pgoff_t first,
				  pgoff_t last)
{
}

static inline void rental_include(struct address_space *mapping)
{
}

static inline unsigned long rental_dirtyable_pages(void)
{
	return 0;
}

#endif
#endif
