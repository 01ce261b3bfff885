/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the kernel has for memory of idle devices: rental memory, or areas of
 * guaranteed contiguous allocation (GCMA), which a patch of somebody else adds.
 * What it lacks, the stand-ins are refused.
 */
#ifndef RENT_KERNEL_H
#define RENT_KERNEL_H

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/types.h>

#ifdef CONFIG_RENTAL
#include <linux/rental.h>
#else
struct device_node;
struct rental_region;

enum { RENTAL_SCRUB_NONE, RENTAL_SCRUB_NOW, RENTAL_SCRUB_LATER };

struct rental_active {
	unsigned long pages;
	u64 ns;
};

static inline struct rental_region *
rental_device_region(struct device_node *node, unsigned int index, bool scrubs)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline struct rental_region *
rental_reserved_region(const char *name, bool scrubs)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void rental_region_range(struct rental_region *region,
				       phys_addr_t *start, size_t *size)
{
}

static inline int rent_memory(struct rental_region *region, size_t offset,
			      size_t size, bool clean)
{
	return -EOPNOTSUPP;
}

static inline int return_memory(struct rental_region *region, size_t offset,
				size_t size, int scrub,
				struct rental_active *active)
{
	return -EOPNOTSUPP;
}

static inline void rental_scrub(struct rental_region *region, size_t offset,
				size_t size)
{
}
#endif

#ifdef CONFIG_GCMA
#include <linux/gcma.h>
#else
static inline int gcma_register_area(const char *name, unsigned long first,
				     unsigned long pages)
{
	return -EOPNOTSUPP;
}

static inline int gcma_alloc_range(unsigned long first, unsigned long pages,
				   gfp_t gfp)
{
	return -EOPNOTSUPP;
}

static inline int gcma_free_range(unsigned long first, unsigned long pages)
{
	return -EOPNOTSUPP;
}
#endif

#endif
