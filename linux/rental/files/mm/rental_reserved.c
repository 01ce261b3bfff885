// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rental memory that was reserved at boot: by nodes of the device tree, which is
 * lent from then on, or by reserve_mem= on the command line, which is lent when
 * a driver asks for it. The nodes are described in
 * Documentation/devicetree/bindings/reserved-memory/trimtab,rental-memory.yaml.
 */
#define pr_fmt(fmt) "rental: " fmt

#include <linux/err.h>
#include <linux/export.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/of.h>
#include <linux/of_reserved_mem.h>
#include <linux/printk.h>

#include "rental.h"

#define COMPATIBLE	"trimtab,rental-memory"
#define HOLES		"trimtab,holes"

/* Pairs of an offset and a size, in bytes. */
static int add_holes(struct rental_region *region, const struct device_node *node)
{
	int i, count, error = 0;
	u64 offset, size;

	if (!of_property_present(node, HOLES))
		return 0;
	count = of_property_count_u64_elems(node, HOLES);
	if (count <= 0 || count % 2)
		return -EINVAL;
	for (i = 0; i < count && !error; i += 2) {
		error = of_property_read_u64_index(node, HOLES, i, &offset) ?:
			of_property_read_u64_index(node, HOLES, i + 1, &size) ?:
			rental_add_hole(region, offset, size);
	}
	return error;
}

/* A new region, all of which is lent, but for the holes of its node. */
static struct rental_region *lend(const char *name, phys_addr_t start,
				  size_t size, struct device_node *node,
				  bool scrubs)
{
	struct rental_region *region = rental_add_region(name, start, size);
	int error;

	if (IS_ERR(region))
		return region;
	error = node ? add_holes(region, node) : 0;
	if (!error)
		error = rent_memory(region, 0, size, scrubs);
	if (error) {
		rental_remove_region(region);
		return ERR_PTR(error);
	}
	mutex_lock(&rental_mutex);
	region->node = of_node_get(node);
	mutex_unlock(&rental_mutex);
	return region;
}

/* Why what a node describes cannot be lent, or NULL. */
static const char *fault_of(const struct device_node *node, phys_addr_t start,
			    phys_addr_t size)
{
	if (!of_property_read_bool(node, "reusable"))
		return "it is not reusable";
	if (of_property_read_bool(node, "no-map"))
		return "it must not be mapped";
	if (!PAGE_ALIGNED(start) || !PAGE_ALIGNED(size))
		return "it is not whole pages";
	if (size < RENTAL_CHUNK)
		return "it is smaller than 1 MiB";
	return NULL;
}

/**
 * rental_add_node() - lend what a node of the device tree describes
 * @node: a child of /reserved-memory
 * @start: where its memory begins
 * @size: the memory's size in bytes
 *
 * Until a driver says that it overwrites what was stored there, no page of an
 * encrypted file is.
 * Return: 0, -EINVAL if the node is wrong, or an error of rental_add_region(),
 * rental_add_hole() or rent_memory(); it was reported then.
 */
int rental_add_node(struct device_node *node, phys_addr_t start,
		    phys_addr_t size)
{
	const char *fault = fault_of(node, start, size);
	struct rental_region *region;

	if (fault) {
		pr_err("%s is not lent: %s\n", node->full_name, fault);
		return -EINVAL;
	}
	region = lend(node->full_name, start, size, node, false);
	if (IS_ERR(region))
		pr_err("%s is not lent: %pe\n", node->full_name, region);
	return PTR_ERR_OR_ZERO(region);
}

/* The region of a node: that node, or one of that name. */
static struct rental_region *find(const struct device_node *node,
				  const char *name)
{
	struct rental_region *region, *found = NULL;
	unsigned int number;

	mutex_lock(&rental_mutex);
	for (number = 0; number < RENTAL_REGIONS && !found; number++) {
		region = rental_regions[number];
		if (region && region->node &&
		    (node ? region->node == node :
			    of_node_name_eq(region->node, name)))
			found = region;
	}
	mutex_unlock(&rental_mutex);
	return found;
}

/* Lends all of a region again if it is lent with other scrubbing; nothing if a driver has a part of it. */
static struct rental_region *lend_again(struct rental_region *region, bool scrubs)
{
	size_t size = region->nr_slots << PAGE_SHIFT;
	bool all;
	int error;

	mutex_lock(&region->lock);
	all = region->nr_rented + region->nr_holes == region->nr_slots;
	mutex_unlock(&region->lock);
	if (!all)
		return ERR_PTR(-EINVAL);
	if (READ_ONCE(region->scrubs) == scrubs)
		return region;
	error = return_memory(region, 0, size, RENTAL_SCRUB_NOW, NULL);
	if (!error)
		error = rent_memory(region, 0, size, scrubs);
	return error ? ERR_PTR(error) : region;
}

/**
 * rental_reserved_region() - memory that was reserved by a name
 * @name: of a node of /reserved-memory, without its address, or in reserve_mem=
 *	on the command line
 * @scrubs: as for rent_memory()
 *
 * All of it is lent. That of a node stays so when its driver is gone, which does
 * not remove it.
 * Context: may sleep.
 * Return: the region, -ENOENT if nothing was reserved by that name, -EINVAL if
 * another driver has a part of it, or an error of rental_add_region().
 */
struct rental_region *rental_reserved_region(const char *name, bool scrubs)
{
	struct rental_region *region = find(NULL, name);
	phys_addr_t start, size;

	if (region)
		return lend_again(region, scrubs);
	if (!reserve_mem_find_by_name(name, &start, &size))
		return ERR_PTR(-ENOENT);
	return lend(name, start, size, NULL, scrubs);
}
EXPORT_SYMBOL_GPL(rental_reserved_region);

/**
 * rental_device_region() - memory that the node of a device names
 * @device: the device's node
 * @index: which one of its property memory-region
 * @scrubs: as for rent_memory()
 *
 * All of it is lent, and stays so when the driver is gone, which does not remove
 * it.
 * Context: may sleep.
 * Return: the region, -ENOENT if the node names none, -ENODEV if it names other
 * memory or such as could not be lent, -EINVAL if another driver has a part of it.
 */
struct rental_region *rental_device_region(const struct device_node *device,
					   int index, bool scrubs)
{
	struct device_node *node = of_parse_phandle(device, "memory-region", index);
	struct rental_region *region;

	if (!node)
		return ERR_PTR(-ENOENT);
	region = find(node, NULL);
	of_node_put(node);
	return region ? lend_again(region, scrubs) : ERR_PTR(-ENODEV);
}
EXPORT_SYMBOL_GPL(rental_device_region);

/**
 * rental_region_range() - where a region is
 * @region: a region
 * @start: set to where it begins
 * @size: set to its size in bytes
 */
void rental_region_range(const struct rental_region *region, phys_addr_t *start,
			 size_t *size)
{
	*start = region->start;
	*size = region->nr_slots << PAGE_SHIFT;
}
EXPORT_SYMBOL_GPL(rental_region_range);

/* Before drivers look for their memory. */
static int __init rental_reserved_init(void)
{
	struct device_node *parent = of_find_node_by_path("/reserved-memory");
	struct device_node *node;

	for_each_available_child_of_node(parent, node) {
		struct reserved_mem *memory;

		if (!of_device_is_compatible(node, COMPATIBLE))
			continue;
		memory = of_reserved_mem_lookup(node);
		if (memory)
			rental_add_node(node, memory->base, memory->size);
		else
			pr_err("%s is not lent: it has no memory\n",
			       node->full_name);
	}
	of_node_put(parent);
	return 0;
}
core_initcall(rental_reserved_init);
