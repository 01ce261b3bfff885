// SPDX-License-Identifier: GPL-2.0-only
/*
 * DMA-BUF heap over a region of rental memory.
 *
 * What is not allocated is lent to the page cache. A buffer is contiguous, of
 * whole MiB, and cleared: rental_heap.regions names regions that were reserved
 * with reserve_mem=SIZE:1M:NAME or by a node of /reserved-memory of that name,
 * and each becomes /dev/dma_heap/NAME.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bitmap.h>
#include <linux/dma-buf.h>
#include <linux/dma-heap.h>
#include <linux/dma-mapping.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/iosys-map.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/rental.h>
#include <linux/scatterlist.h>
#include <linux/sched/signal.h>
#include <linux/sizes.h>
#include <linux/slab.h>

static char *regions[8];
static int nr_regions;
module_param_array(regions, charp, &nr_regions, 0444);
MODULE_PARM_DESC(regions, "names of reserved memory of which a heap is made");

/* rent_memory() takes whole MiB. */
#define UNIT	SZ_1M

/**
 * struct rental_heap - a heap
 * @region: its memory
 * @start: where that begins
 * @nr_units: how many MiB it has
 * @lock: protects @used, and is held while memory is lent or returned
 * @used: which MiB are allocated
 */
struct rental_heap {
	struct rental_region *region;
	phys_addr_t start;
	unsigned long nr_units;
	struct mutex lock;	/* protects used */
	unsigned long *used;
};

/**
 * struct rental_buffer - what was allocated
 * @heap: of which
 * @first: first MiB
 * @size: bytes that were asked for, in whole pages
 * @lock: protects @attachments
 * @attachments: devices that use it
 */
struct rental_buffer {
	struct rental_heap *heap;
	unsigned long first;
	size_t size;
	struct mutex lock;	/* protects attachments */
	struct list_head attachments;
};

/**
 * struct attachment - a device that uses a buffer
 * @device: the device
 * @table: the buffer, as the device sees it
 * @listed: in its buffer's list
 * @mapped: the device may use it now
 */
struct attachment {
	struct device *device;
	struct sg_table table;
	struct list_head listed;
	bool mapped;
};

static unsigned long units_of(size_t size)
{
	return DIV_ROUND_UP(size, UNIT);
}

static phys_addr_t start_of(const struct rental_buffer *buffer)
{
	return buffer->heap->start + buffer->first * UNIT;
}

/* Takes memory from the page cache; its first MiB, or an error. */
static long take_units(struct rental_heap *heap, unsigned long units)
{
	unsigned long first;
	int error;

	mutex_lock(&heap->lock);
	first = bitmap_find_next_zero_area(heap->used, heap->nr_units, 0, units, 0);
	if (first + units > heap->nr_units) {
		mutex_unlock(&heap->lock);
		return -ENOMEM;
	}
	/* All of it is cleared below. */
	error = return_memory(heap->region, first * UNIT, units * UNIT,
			      RENTAL_SCRUB_NONE, NULL);
	if (!error)
		bitmap_set(heap->used, first, units);
	mutex_unlock(&heap->lock);
	return error ?: first;
}

static void lend_units(struct rental_heap *heap, unsigned long first,
		       unsigned long units)
{
	mutex_lock(&heap->lock);
	if (!WARN_ON(rent_memory(heap->region, first * UNIT, units * UNIT, true)))
		bitmap_clear(heap->used, first, units);
	mutex_unlock(&heap->lock);
}

static int rental_heap_attach(struct dma_buf *dmabuf,
			      struct dma_buf_attachment *attached)
{
	struct rental_buffer *buffer = dmabuf->priv;
	struct attachment *it;
	int error;

	it = kzalloc(sizeof(*it), GFP_KERNEL);
	if (!it)
		return -ENOMEM;
	error = sg_alloc_table(&it->table, 1, GFP_KERNEL);
	if (error) {
		kfree(it);
		return error;
	}
	sg_set_page(it->table.sgl, pfn_to_page(PHYS_PFN(start_of(buffer))),
		    buffer->size, 0);
	it->device = attached->dev;
	attached->priv = it;
	mutex_lock(&buffer->lock);
	list_add(&it->listed, &buffer->attachments);
	mutex_unlock(&buffer->lock);
	return 0;
}

static void rental_heap_detach(struct dma_buf *dmabuf,
			       struct dma_buf_attachment *attached)
{
	struct rental_buffer *buffer = dmabuf->priv;
	struct attachment *it = attached->priv;

	mutex_lock(&buffer->lock);
	list_del(&it->listed);
	mutex_unlock(&buffer->lock);
	sg_free_table(&it->table);
	kfree(it);
}

static struct sg_table *rental_heap_map(struct dma_buf_attachment *attached,
					enum dma_data_direction direction)
{
	struct attachment *it = attached->priv;
	int error = dma_map_sgtable(attached->dev, &it->table, direction, 0);

	if (error)
		return ERR_PTR(error);
	it->mapped = true;
	return &it->table;
}

static void rental_heap_unmap(struct dma_buf_attachment *attached,
			      struct sg_table *table,
			      enum dma_data_direction direction)
{
	struct attachment *it = attached->priv;

	it->mapped = false;
	dma_unmap_sgtable(attached->dev, table, direction, 0);
}

static int rental_heap_begin_access(struct dma_buf *dmabuf,
				    enum dma_data_direction direction)
{
	struct rental_buffer *buffer = dmabuf->priv;
	struct attachment *it;

	mutex_lock(&buffer->lock);
	list_for_each_entry(it, &buffer->attachments, listed)
		if (it->mapped)
			dma_sync_sgtable_for_cpu(it->device, &it->table,
						 direction);
	mutex_unlock(&buffer->lock);
	return 0;
}

static int rental_heap_end_access(struct dma_buf *dmabuf,
				  enum dma_data_direction direction)
{
	struct rental_buffer *buffer = dmabuf->priv;
	struct attachment *it;

	mutex_lock(&buffer->lock);
	list_for_each_entry(it, &buffer->attachments, listed)
		if (it->mapped)
			dma_sync_sgtable_for_device(it->device, &it->table,
						    direction);
	mutex_unlock(&buffer->lock);
	return 0;
}

/*
 * Of pages that are mapped by number alone nobody can take a reference, which
 * would outlive the buffer.
 */
static int rental_heap_mmap(struct dma_buf *dmabuf, struct vm_area_struct *vma)
{
	struct rental_buffer *buffer = dmabuf->priv;

	unsigned long pages = buffer->size >> PAGE_SHIFT;

	if (!(vma->vm_flags & VM_SHARED) || vma->vm_pgoff > pages ||
	    vma_pages(vma) > pages - vma->vm_pgoff)
		return -EINVAL;
	return remap_pfn_range(vma, vma->vm_start,
			       PHYS_PFN(start_of(buffer)) + vma->vm_pgoff,
			       vma->vm_end - vma->vm_start, vma->vm_page_prot);
}

static int rental_heap_vmap(struct dma_buf *dmabuf, struct iosys_map *map)
{
	struct rental_buffer *buffer = dmabuf->priv;

	iosys_map_set_vaddr(map, phys_to_virt(start_of(buffer)));
	return 0;
}

static void rental_heap_release(struct dma_buf *dmabuf)
{
	struct rental_buffer *buffer = dmabuf->priv;

	lend_units(buffer->heap, buffer->first, units_of(buffer->size));
	kfree(buffer);
}

static const struct dma_buf_ops rental_buffer_ops = {
	.attach = rental_heap_attach,
	.detach = rental_heap_detach,
	.map_dma_buf = rental_heap_map,
	.unmap_dma_buf = rental_heap_unmap,
	.begin_cpu_access = rental_heap_begin_access,
	.end_cpu_access = rental_heap_end_access,
	.mmap = rental_heap_mmap,
	.vmap = rental_heap_vmap,
	.release = rental_heap_release,
};

/* Nobody sees what was there before; -EINTR if the process is being killed. */
static int clear_buffer(const struct rental_buffer *buffer)
{
	void *memory = phys_to_virt(start_of(buffer));
	size_t offset;

	for (offset = 0; offset < buffer->size; offset += PAGE_SIZE) {
		clear_page(memory + offset);
		if (offset % UNIT)
			continue;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return 0;
}

static struct dma_buf *rental_heap_allocate(struct dma_heap *of,
					    unsigned long size, u32 fd_flags,
					    u64 heap_flags)
{
	struct rental_heap *heap = dma_heap_get_drvdata(of);
	DEFINE_DMA_BUF_EXPORT_INFO(export);
	struct rental_buffer *buffer;
	struct dma_buf *dmabuf;
	long first;

	/* An entry of a scatter list has 32 bits for it. */
	if (size > SZ_2G)
		return ERR_PTR(-EINVAL);
	buffer = kzalloc(sizeof(*buffer), GFP_KERNEL);
	if (!buffer)
		return ERR_PTR(-ENOMEM);
	mutex_init(&buffer->lock);
	INIT_LIST_HEAD(&buffer->attachments);
	buffer->heap = heap;
	buffer->size = PAGE_ALIGN(size);
	first = take_units(heap, units_of(buffer->size));
	if (first < 0) {
		kfree(buffer);
		return ERR_PTR(first);
	}
	buffer->first = first;
	dmabuf = ERR_PTR(clear_buffer(buffer));
	if (!IS_ERR(dmabuf)) {
		export.exp_name = dma_heap_get_name(of);
		export.ops = &rental_buffer_ops;
		export.size = buffer->size;
		export.flags = fd_flags;
		export.priv = buffer;
		dmabuf = dma_buf_export(&export);
	}
	if (IS_ERR(dmabuf)) {
		lend_units(heap, first, units_of(buffer->size));
		kfree(buffer);
	}
	return dmabuf;
}

static const struct dma_heap_ops rental_heap_ops = {
	.allocate = rental_heap_allocate,
};

/* Makes a heap of memory that was reserved by this name, and lends all of it. */
static int __init add_heap(const char *name)
{
	struct dma_heap_export_info info = { .name = name, .ops = &rental_heap_ops };
	struct rental_heap *heap;
	size_t size;
	int error;

	heap = kzalloc(sizeof(*heap), GFP_KERNEL);
	if (!heap)
		return -ENOMEM;
	info.priv = heap;
	mutex_init(&heap->lock);
	/* It stays lent, whatever fails below. */
	heap->region = rental_reserved_region(name, true);
	error = PTR_ERR_OR_ZERO(heap->region);
	if (error)
		goto free;
	rental_region_range(heap->region, &heap->start, &size);
	heap->nr_units = size / UNIT;
	error = -EINVAL;
	if (!heap->nr_units || !pfn_valid(PHYS_PFN(heap->start)))
		goto free;
	error = -ENOMEM;
	heap->used = bitmap_zalloc(heap->nr_units, GFP_KERNEL);
	if (!heap->used)
		goto free;
	error = PTR_ERR_OR_ZERO(dma_heap_add(&info));
	if (!error)
		return 0;

	bitmap_free(heap->used);
free:
	kfree(heap);
	return error;
}

static int __init rental_heap_init(void)
{
	int i, error;

	for (i = 0; i < nr_regions; i++) {
		error = add_heap(regions[i]);
		if (error == -ENOENT)
			pr_err("no memory is reserved: reserve_mem=SIZE:1M:%s\n",
			       regions[i]);
		else if (error)
			pr_err("no heap of %s: %d\n", regions[i], error);
	}
	return 0;
}
device_initcall(rental_heap_init);
