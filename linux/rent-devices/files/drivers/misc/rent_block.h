/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A block of memory that the stand-ins for devices take off line to have it.
 */
#ifndef RENT_BLOCK_H
#define RENT_BLOCK_H

#include <linux/errno.h>
#include <linux/types.h>

#ifdef CONFIG_RENT_DEVICES_OFFLINE
int rent_block_add(phys_addr_t start, size_t size);
int rent_block_get(void);
void rent_block_put(void);
#else
static inline int rent_block_add(phys_addr_t start, size_t size)
{
	return -EOPNOTSUPP;
}

static inline int rent_block_get(void)
{
	return -EOPNOTSUPP;
}

static inline void rent_block_put(void)
{
}
#endif

#endif
