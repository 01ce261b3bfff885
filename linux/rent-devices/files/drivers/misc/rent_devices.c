// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stand-ins for devices with memory of their own: a video decoder, a camera and
 * a JPEG decoder. To open one makes it active: its memory belongs to it and can
 * be mapped. When it is closed, its memory is idle; rent_devices.arm says what
 * becomes of it then.
 *
 * idle: nothing; it is reserved, with reserve_mem=SIZE:ALIGNMENT:NAME.
 * rental: the same memory is lent to the page cache; or that which the device's
 * node in the device tree names, /rent-decoder for example.
 * cma: there is none. What is needed comes from the contiguous memory
 * allocator, whose area is movable pages meanwhile (cma=SIZE, and SIZE for each
 * device in rent_devices.sizes, in MiB).
 * movable: the same of the zone of movable pages (movablecore=SIZE, with room
 * to spare for what the kernel and its root take at its end), where memory to
 * be unplugged is, too. Each device always has the same pages there.
 * offline: all of it is in one block of memory, at rent_devices.block MiB, that
 * is added when the kernel is up, and taken off line and put on line as whole.
 * No less can be unplugged.
 * gcma: the same memory as with idle is an area of guaranteed contiguous
 * allocation, in a kernel that has that from somebody else's patch.
 *
 * With rent_devices.split each of the first two ways' memory is that of two
 * devices, the second of which is NAME-rest: they rent and return a part of one
 * region each.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/dma-map-ops.h>
#include <linux/fs.h>
#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/miscdevice.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/of.h>
#include <linux/string.h>

#include "rent_block.h"
#include "rent_kernel.h"

static char *arm = "idle";
module_param(arm, charp, 0444);
MODULE_PARM_DESC(arm, "idle, rental, cma, movable, offline or gcma: what becomes of memory of idle devices");

static char *scrub = "none";
module_param(scrub, charp, 0444);
MODULE_PARM_DESC(scrub, "none, now or later: who overwrites what was stored");

static unsigned int sizes[3];
static int nr_sizes;
module_param_array(sizes, uint, &nr_sizes, 0444);
MODULE_PARM_DESC(sizes, "with cma, movable and offline, MiB of each device");

static unsigned long block;
module_param(block, ulong, 0444);
MODULE_PARM_DESC(block, "with offline, where the block of memory begins, in MiB");

static unsigned long active_pages;
module_param(active_pages, ulong, 0644);
MODULE_PARM_DESC(active_pages, "pages in use that are moved before a return, at most");

static unsigned int active_us = 100000;
module_param(active_us, uint, 0644);
MODULE_PARM_DESC(active_us, "how long that may take, in microseconds");

static unsigned long clear_ns, copy_ns;
module_param(clear_ns, ulong, 0444);
MODULE_PARM_DESC(clear_ns, "how long it takes to clear 1000 pages, in nanoseconds");
module_param(copy_ns, ulong, 0444);
MODULE_PARM_DESC(copy_ns, "how long it takes to copy 1000 pages, in nanoseconds");

static bool split;
module_param(split, bool, 0444);
MODULE_PARM_DESC(split, "whether the memory of each device is that of two");

enum arm { IDLE, RENTAL, CMA, MOVABLE, OFFLINE, GCMA };

static const char *const arms[] = {
	[IDLE] = "idle",
	[RENTAL] = "rental",
	[CMA] = "cma",
	[MOVABLE] = "movable",
	[OFFLINE] = "offline",
	[GCMA] = "gcma",
};

static const char *const scrubs[] = {
	[RENTAL_SCRUB_NONE] = "none",
	[RENTAL_SCRUB_NOW] = "now",
	[RENTAL_SCRUB_LATER] = "later",
};

static enum arm kind;

/**
 * struct stand_in - a device
 * @device: what user space opens
 * @name: of its memory
 * @whole: whose memory it has a part of, if that is another one's
 * @size: of its memory in bytes
 * @offset: where it begins in the region
 * @start: where that is
 * @pages: the same, if it comes from the contiguous memory allocator
 * @region: the same, if it is lent
 * @lock: held while its memory changes its user
 * @users: how often it is open
 */
struct stand_in {
	struct miscdevice device;
	const char *name;
	struct stand_in *whole;
	size_t size;
	size_t offset;
	phys_addr_t start;
	struct page *pages;
	struct rental_region *region;
	struct mutex lock;	/* protects users */
	unsigned int users;
};

static struct stand_in stand_ins[6] = {
	{ .name = "decoder", .device.name = "rent-decoder" },
	{ .name = "camera", .device.name = "rent-camera" },
	{ .name = "jpeg", .device.name = "rent-jpeg" },
	{ .device.name = "rent-decoder-rest", .whole = &stand_ins[0] },
	{ .device.name = "rent-camera-rest", .whole = &stand_ins[1] },
	{ .device.name = "rent-jpeg-rest", .whole = &stand_ins[2] },
};

static struct stand_in *stand_in_of(struct file *file)
{
	return container_of(file->private_data, struct stand_in, device);
}

/* Makes the memory the device's. */
static int get_memory(struct stand_in *it)
{
	struct rental_active active = {
		.pages = active_pages,
		.ns = active_us * 1000ULL,
	};
	int how;

	switch (kind) {
	case RENTAL:
		how = sysfs_match_string(scrubs, scrub);
		if (how < 0)
			return how;
		return return_memory(it->region, it->offset, it->size, how,
				     active_pages ? &active : NULL);
	case CMA:
		it->pages = dma_alloc_from_contiguous(NULL, it->size >> PAGE_SHIFT,
						      0, false);
		if (!it->pages)
			return -EBUSY;
		it->start = page_to_phys(it->pages);
		return 0;
	case MOVABLE:
		return alloc_contig_range(PHYS_PFN(it->start),
					  PHYS_PFN(it->start + it->size),
					  MIGRATE_MOVABLE, GFP_KERNEL);
	case OFFLINE:
		return rent_block_get();
	case GCMA:
		return gcma_alloc_range(PHYS_PFN(it->start), it->size >> PAGE_SHIFT,
					GFP_KERNEL);
	default:
		return 0;
	}
}

/* Whether what was stored is overwritten. */
static bool scrubs_memory(void)
{
	return strcmp(scrub, "none") != 0;
}

/* The device does not need it any more. */
static void put_memory(struct stand_in *it)
{
	switch (kind) {
	case RENTAL:
		WARN_ON(rent_memory(it->region, it->offset, it->size,
				    scrubs_memory()));
		break;
	case CMA:
		dma_release_from_contiguous(NULL, it->pages, it->size >> PAGE_SHIFT);
		it->pages = NULL;
		break;
	case MOVABLE:
		free_contig_range(PHYS_PFN(it->start), it->size >> PAGE_SHIFT);
		break;
	case OFFLINE:
		rent_block_put();
		break;
	case GCMA:
		WARN_ON(gcma_free_range(PHYS_PFN(it->start), it->size >> PAGE_SHIFT));
		break;
	default:
		break;
	}
}

static int stand_in_open(struct inode *inode, struct file *file)
{
	struct stand_in *it = stand_in_of(file);
	int error = 0;

	mutex_lock(&it->lock);
	if (!it->users)
		error = get_memory(it);
	if (!error)
		it->users++;
	mutex_unlock(&it->lock);
	return error;
}

static int stand_in_release(struct inode *inode, struct file *file)
{
	struct stand_in *it = stand_in_of(file);

	mutex_lock(&it->lock);
	if (!--it->users)
		put_memory(it);
	mutex_unlock(&it->lock);
	return 0;
}

static vm_fault_t stand_in_fault(struct vm_fault *vmf)
{
	struct stand_in *it = stand_in_of(vmf->vma->vm_file);
	size_t offset = (size_t)vmf->pgoff << PAGE_SHIFT;

	if (offset >= it->size)
		return VM_FAULT_SIGBUS;
	if (kind == RENTAL && !strcmp(scrub, "later"))
		rental_scrub(it->region, it->offset + offset, PAGE_SIZE);
	return vmf_insert_pfn(vmf->vma, vmf->address,
			      PHYS_PFN(it->start) + vmf->pgoff);
}

static const struct vm_operations_struct stand_in_vm_ops = {
	.fault = stand_in_fault,
};

/* The mapping keeps the file open, and with it the memory. */
static int stand_in_mmap(struct file *file, struct vm_area_struct *vma)
{
	/* There is nothing that a private copy could be made of. */
	if ((vma->vm_flags & (VM_SHARED | VM_MAYWRITE)) == VM_MAYWRITE)
		return -EINVAL;
	vm_flags_set(vma, VM_PFNMAP | VM_IO | VM_DONTEXPAND | VM_DONTDUMP);
	vma->vm_ops = &stand_in_vm_ops;
	return 0;
}

static loff_t stand_in_llseek(struct file *file, loff_t offset, int whence)
{
	return fixed_size_llseek(file, offset, whence, stand_in_of(file)->size);
}

static const struct file_operations stand_in_fops = {
	.owner = THIS_MODULE,
	.open = stand_in_open,
	.release = stand_in_release,
	.mmap = stand_in_mmap,
	.llseek = stand_in_llseek,
};

/* The second half of another one's memory, to the MiB; that keeps the first. */
static int __init take_rest(struct stand_in *it)
{
	struct stand_in *whole = it->whole;
	size_t half = ALIGN_DOWN(whole->size / 2, SZ_1M);

	if (!split || (kind != IDLE && kind != RENTAL) || !half)
		return -ENOENT;
	it->region = whole->region;
	it->offset = half;
	it->start = whole->start + half;
	it->size = whole->size - half;
	whole->size = half;
	return 0;
}

/* Its memory, all of which is lent, of the device tree or the command line. */
static int __init find_region(struct stand_in *it)
{
	struct device_node *node;
	char path[32];

	snprintf(path, sizeof(path), "/%s", it->device.name);
	node = of_find_node_by_path(path);
	if (node)
		it->region = rental_device_region(node, 0, scrubs_memory());
	else
		it->region = rental_reserved_region(it->name, scrubs_memory());
	of_node_put(node);
	if (IS_ERR(it->region))
		return PTR_ERR(it->region);
	rental_region_range(it->region, &it->start, &it->size);
	return 0;
}

/*
 * Its pages in the zone of movable ones, behind those of the devices before.
 * What was allocated before there were zones stays where it is.
 */
static int __init find_movable(struct stand_in *it)
{
	struct zone *zone = &NODE_DATA(first_online_node)->node_zones[ZONE_MOVABLE];
	static unsigned long pfn __initdata;
	unsigned long first = max(pfn, zone->zone_start_pfn);

	for (pfn = first; PFN_PHYS(pfn - first) < it->size; pfn++) {
		if (pfn >= zone_end_pfn(zone))
			return -ENOMEM;
		if (!pfn_valid(pfn) || PageReserved(pfn_to_page(pfn)))
			first = pfn + 1;
	}
	it->start = PFN_PHYS(first);
	return 0;
}

/* Its part of the block, behind those of the devices before. */
static int __init find_in_block(struct stand_in *it)
{
	static size_t taken __initdata;
	size_t offset = taken;

	taken += it->size;
	it->start = ((phys_addr_t)block << 20) + offset;
	return rent_block_add((phys_addr_t)block << 20, taken);
}

/* Finds its memory; -ENOENT if there is none. */
static int __init find_memory(struct stand_in *it, unsigned int number)
{
	phys_addr_t size;

	if (it->whole)
		return take_rest(it);
	if (kind != IDLE && kind != RENTAL && kind != GCMA) {
		it->size = (size_t)(number < nr_sizes ? sizes[number] : 0) << 20;
		if (!it->size)
			return -ENOENT;
		if (kind == MOVABLE)
			return find_movable(it);
		return kind == OFFLINE ? find_in_block(it) : 0;
	}
	if (kind == RENTAL)
		return find_region(it);
	if (!reserve_mem_find_by_name(it->name, &it->start, &size))
		return -ENOENT;
	it->size = size;
	if (kind == GCMA)
		return gcma_register_area(it->name, PHYS_PFN(it->start),
					  it->size >> PAGE_SHIFT);
	return 0;
}

/* What scrubbing and moving pages are compared with. */
static void __init measure_pages(void)
{
	void *from = (void *)__get_free_page(GFP_KERNEL | __GFP_ZERO);
	void *to = (void *)__get_free_page(GFP_KERNEL);
	unsigned int i;
	u64 begin;

	if (from && to) {
		begin = ktime_get_ns();
		for (i = 0; i < 1000; i++)
			clear_page(to);
		clear_ns = ktime_get_ns() - begin;
		begin = ktime_get_ns();
		for (i = 0; i < 1000; i++)
			copy_page(to, from);
		copy_ns = ktime_get_ns() - begin;
	}
	free_page((unsigned long)to);
	free_page((unsigned long)from);
}

/* Lets it be opened. */
static void __init add_device(struct stand_in *it, int error)
{
	mutex_init(&it->lock);
	it->device.minor = MISC_DYNAMIC_MINOR;
	it->device.fops = &stand_in_fops;
	it->device.mode = 0600;
	if (!error)
		error = misc_register(&it->device);
	if (error)
		pr_err("%s cannot be used: %d\n", it->device.name, error);
}

static int __init rent_devices_init(void)
{
	int which = match_string(arms, ARRAY_SIZE(arms), arm);
	int errors[ARRAY_SIZE(stand_ins)];
	unsigned int i;

	if (which < 0) {
		pr_err("there is no arm %s\n", arm);
		return which;
	}
	kind = which;
	measure_pages();
	/* All before the first can be opened: one may give a part to another. */
	for (i = 0; i < ARRAY_SIZE(stand_ins); i++)
		errors[i] = find_memory(&stand_ins[i], i);
	for (i = 0; i < ARRAY_SIZE(stand_ins); i++)
		if (errors[i] != -ENOENT)
			add_device(&stand_ins[i], errors[i]);
	return 0;
}
late_initcall(rent_devices_init);
