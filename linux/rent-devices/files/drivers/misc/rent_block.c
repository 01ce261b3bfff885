// SPDX-License-Identifier: GPL-2.0-only
/*
 * A block of memory that is added when the kernel is up. As long as nobody has
 * it, it is on line: movable pages are there. Whoever gets it waits until it is
 * off line, and all its pages are moved elsewhere.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/align.h>
#include <linux/device.h>
#include <linux/memory.h>
#include <linux/memory_hotplug.h>
#include <linux/mmzone.h>
#include <linux/mutex.h>
#include <linux/nodemask.h>
#include <linux/pfn.h>

#include "rent_block.h"

static DEFINE_MUTEX(lock);	/* protects users */
static struct memory_block *block;
static unsigned int users;

static int online(void)
{
	int error;

	lock_device_hotplug();
	block->online_type = MMOP_ONLINE_MOVABLE;
	error = device_online(&block->dev);
	unlock_device_hotplug();
	return error;
}

/**
 * rent_block_add() - adds the block, and puts it on line
 * @start: where it begins
 * @size: what is needed of it, in bytes
 *
 * It is added the first time only.
 *
 * Return: 0; -EINVAL if it does not begin there or is not as large; what else
 * memory hotplug fails with.
 */
int __init rent_block_add(phys_addr_t start, size_t size)
{
	unsigned long bytes = memory_block_size_bytes();
	int error;

	if (!IS_ALIGNED(start, bytes) || size > bytes) {
		pr_err("%zu bytes at %pa are not in one block of %lu bytes\n",
		       size, &start, bytes);
		return -EINVAL;
	}
	if (block)
		return 0;
	error = add_memory(first_online_node, start, bytes, MHP_NONE);
	if (error)
		return error;
	lock_device_hotplug();
	block = find_memory_block(pfn_to_section_nr(PHYS_PFN(start)));
	unlock_device_hotplug();
	return block ? online() : -ENODEV;
}

/**
 * rent_block_get() - has the block taken off line, unless somebody has it
 *
 * A signal ends that. Pages that cannot be moved do not.
 *
 * Return: 0, or what taking it off line failed with.
 */
int rent_block_get(void)
{
	int error = 0;

	mutex_lock(&lock);
	if (!users) {
		lock_device_hotplug();
		error = device_offline(&block->dev);
		unlock_device_hotplug();
	}
	if (!error)
		users++;
	mutex_unlock(&lock);
	return error;
}

/**
 * rent_block_put() - puts the block on line, unless somebody else has it
 */
void rent_block_put(void)
{
	mutex_lock(&lock);
	if (!--users)
		WARN_ON(online());
	mutex_unlock(&lock);
}
