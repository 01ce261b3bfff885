// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where the page cache meets rental memory: which folios are stored when they
 * are evicted, what is read or dropped in place of a folio, and what must not
 * be stored. See include/linux/rental.h; copies themselves are in rental.c.
 */
#include <linux/dax.h>
#include <linux/hash.h>
#include <linux/magic.h>
#include <linux/memcontrol.h>
#include <linux/mm.h>
#include <linux/mm_inline.h>
#include <linux/page-flags.h>
#include <linux/pagemap.h>
#include <linux/shmem_fs.h>
#include <linux/swap.h>
#include <linux/uio.h>

#include "internal.h"
#include "rental.h"

#include <trace/events/filemap.h>
#include <trace/events/rental.h>

/*
 * Mappings of which ranges are being invalidated, by a hash. Meanwhile no copy
 * of them is made or used: it could be of what the disk had before.
 */
#define EXCLUDED_BITS	6
static atomic_t excluded[1 << EXCLUDED_BITS];

static atomic_t *excluded_of(const struct address_space *mapping)
{
	return &excluded[hash_ptr(mapping, EXCLUDED_BITS)];
}

/*
 * File systems that change what is on the disk only through the page cache, or
 * after they invalidated it. Others look at folios alone there: bcachefs for
 * direct writes, btrfs for relocation, nilfs2 for its metadata.
 */
static bool is_known(const struct super_block *sb)
{
	switch (sb->s_magic) {
	case EROFS_SUPER_MAGIC_V1:
	case EXFAT_SUPER_MAGIC:
	case EXT4_SUPER_MAGIC:
	case F2FS_SUPER_MAGIC:
	case MSDOS_SUPER_MAGIC:
	case SQUASHFS_MAGIC:
	case XFS_SUPER_MAGIC:
		return true;
	default:
		return false;
	}
}

/**
 * rental_store() - copy a folio that is being evicted to rented memory
 * @folio: a folio of a file: locked, clean, with no user left
 * @shadow: the shadow entry that its eviction would leave
 *
 * Context: the lock of i_pages, with interrupts off, between the eviction and
 * the removal from i_pages.
 * Return: what to leave in i_pages, an entry for the copy or the shadow entry.
 */
void *rental_store(struct folio *folio, void *shadow)
{
	struct inode *inode = folio->mapping->host;
	struct rental_owner owner;

	if (!READ_ONCE(rental_storing_regions))
		return shadow;
	if (folio_test_large(folio)) {
		rental_count(RENTAL_REFUSED_ORDER);
		return shadow;
	}
	if (!folio_test_uptodate(folio) || folio_test_hwpoison(folio) || !inode ||
	    !S_ISREG(inode->i_mode) || !inode->i_sb->s_bdev ||
	    !is_known(inode->i_sb) ||
	    inode->i_ino > U32_MAX || folio->index > U32_MAX) {
		rental_count(RENTAL_REFUSED_KIND);
		return shadow;
	}
	if (rental_policy == RENTAL_STORE_WORKINGSET &&
	    !folio_test_workingset(folio)) {
		rental_count(RENTAL_REFUSED_POLICY);
		return shadow;
	}
	if (atomic_read(excluded_of(folio->mapping))) {
		rental_count(RENTAL_REFUSED_EXCLUDED);
		return shadow;
	}
	owner.device = inode->i_sb->s_dev;
	owner.ino = inode->i_ino;
	owner.index = folio->index;
	owner.active = folio_test_workingset(folio);
	return rental_store_copy(folio, shadow, IS_ENCRYPTED(inode), &owner);
}

/**
 * rental_take() - use up the copy of an entry
 * @entry: an entry that was in i_pages a moment ago
 * @folio: the locked folio that is there now, which is to have the copy's bytes
 *	and to be up to date; or NULL, to drop the copy
 *
 * Return: the shadow entry that was stored with it, or NULL.
 */
void *rental_take(void *entry, struct folio *folio)
{
	if (!rental_entry(entry))
		return entry;
	/* A copy is one page. */
	if (folio && (folio_test_large(folio) || atomic_read(excluded_of(folio->mapping))))
		folio = NULL;
	return rental_use_up(entry, folio, RENTAL_DROPPED);
}

/**
 * rental_read() - read from a page of a file that has a copy but no folio
 * @iocb: the file, and where to read from; advanced by what was read
 * @iter: where to; advanced as well
 *
 * Return: how many bytes were read, none if the page has to become a folio.
 */
size_t rental_read(struct kiocb *iocb, struct iov_iter *iter)
{
	pgoff_t last = (iocb->ki_filp->f_ra.prev_pos - 1) >> PAGE_SHIFT;
	struct address_space *mapping = iocb->ki_filp->f_mapping;
	pgoff_t index = iocb->ki_pos >> PAGE_SHIFT;
	struct inode *inode = mapping->host;
	size_t copied;
	void *entry;

	if (!static_branch_unlikely(&rental_used))
		return 0;
	entry = xa_load(&mapping->i_pages, index);
	if (!rental_entry(entry))
		return 0;
	copied = rental_read_copy(entry, inode, iocb->ki_pos, iter);
	/* It does not fault @iter in. Who must not wait gets no folio instead. */
	if (!copied && !fault_in_iov_iter_writeable(iter, PAGE_SIZE - offset_in_page(iocb->ki_pos)))
		copied = rental_read_copy(entry, inode, iocb->ki_pos, iter);
	iocb->ki_pos += copied;
	/* A page that is read a piece at a time is one hit. */
	if (copied && index != last) {
		rental_count(RENTAL_HITS);
		rental_count(RENTAL_HITS_IN_PLACE);
		trace_rental_read(inode->i_sb->s_dev, inode->i_ino, index);
	}
	return copied;
}

/* The node of entries of single pages in which the last one was, or NULL. */
struct leaf {
	struct xa_node *node;
	pgoff_t first;
};

static noinline void *walk_to(struct xa_state *xas, struct leaf *leaf, pgoff_t index)
{
	void *entry;

	xas_set(xas, index);
	entry = xas_load(xas);
	leaf->node = xas->xa_node;
	leaf->first = round_down(index, XA_CHUNK_SIZE);
	if (xas_not_node(leaf->node) || leaf->node->shift)
		leaf->node = NULL;
	return entry;
}

/*
 * The entry of a page; that of one nearby was often the last one. A part of a
 * larger entry is none that the callers look for.
 */
static __always_inline void *load_entry(struct xa_state *xas, struct leaf *leaf,
					pgoff_t index)
{
	if (leaf->node && (index ^ leaf->first) < XA_CHUNK_SIZE)
		return xa_entry_locked(xas->xa, leaf->node, index % XA_CHUNK_SIZE);
	return walk_to(xas, leaf, index);
}

/*
 * What xas_store() does for an entry of one page that was loaded last, where
 * another one comes in its place: nothing is allocated or freed, and no other
 * entry is looked at. One of the two is a value, so @values is 1 or -1.
 */
static __always_inline void replace_entry(struct xa_state *xas,
					  const struct leaf *leaf, pgoff_t index,
					  void *entry, int values)
{
	struct xa_node *node = leaf->node;
	bool only_values;

	if (!node) {
		xas_store(xas, entry);
		return;
	}
	rcu_assign_pointer(node->slots[index % XA_CHUNK_SIZE], entry);
	node->nr_values += values;
	/* It lists nodes that have only these: most are listed, or not, as before. */
	only_values = node->count == node->nr_values;
	if (xas->xa_update && only_values == list_empty(&node->private_list))
		xas->xa_update(node);
}

/* What page_cache_delete() does of marks; entries of copies have none. */
static __always_inline void clear_marks(struct xa_state *xas,
					struct leaf *leaf, pgoff_t index)
{
	xa_mark_t mark;

	for (mark = XA_MARK_0; leaf->node && mark < XA_MAX_MARKS; mark++)
		if (unlikely(test_bit(index % XA_CHUNK_SIZE, leaf->node->marks[mark])))
			break;
	if (leaf->node && mark == XA_MAX_MARKS)
		return;
	walk_to(xas, leaf, index);
	xas_init_marks(xas);
}

/* What __remove_mapping() does for a locked folio of i_pages, which is locked. */
static __always_inline bool evict(struct xa_state *xas, struct leaf *leaf,
				  struct folio *folio, bool stores)
{
	pgoff_t index = folio->index;
	void *shadow;

	if (load_entry(xas, leaf, index) != folio || !folio_ref_freeze(folio, 2))
		return false;
	/* After the references, as it explains. */
	if (folio_test_dirty(folio)) {
		folio_ref_unfreeze(folio, 2);
		return false;
	}
	trace_mm_filemap_delete_from_page_cache(folio);
	shadow = workingset_eviction(folio, NULL);
	if (stores)
		shadow = rental_store(folio, shadow);
	clear_marks(xas, leaf, index);
	replace_entry(xas, leaf, index, shadow, 1);
	folio->mapping = NULL;
	return true;
}

/**
 * rental_evict() - evict folios of one file
 * @mapping: the file
 * @folios: locked folios of one page, to which there is one reference but for
 *	the file's; those that were evicted come first then, and have none
 * @nr: how many
 *
 * What is dirty, or used by somebody, stays. NR_FILE_PAGES is the caller's.
 * Return: how many were evicted.
 */
unsigned int rental_evict(struct address_space *mapping, struct folio **folios,
			  unsigned int nr)
{
	XA_STATE(xas, &mapping->i_pages, 0);
	/* Where the only region is being returned, none does. */
	bool stores = READ_ONCE(rental_storing_regions);
	unsigned int i, evicted = 0;
	struct leaf leaf = {};

	mapping_set_update(&xas, mapping);
	spin_lock(&mapping->host->i_lock);
	xas_lock_irq(&xas);
	/* There must be no shadow entries then. */
	if (mapping_exiting(mapping) || dax_mapping(mapping))
		nr = 0;
	for (i = 0; i < nr; i++) {
		if (!evict(&xas, &leaf, folios[i], stores))
			continue;
		if (evicted != i)
			swap(folios[evicted], folios[i]);
		evicted++;
	}
	mapping->nrpages -= evicted;
	xas_unlock_irq(&xas);
	if (mapping_shrinkable(mapping))
		inode_add_lru(mapping->host);
	spin_unlock(&mapping->host->i_lock);
	return evicted;
}

/**
 * rental_replace() - have folios in i_pages in place of copies
 * @mapping: the file
 * @region: where the copies are
 * @slots: the copies, which nobody else can use
 * @folios: new folios with the copies' bytes, charged; those that are in the
 *	file then come last
 * @nr: how many
 *
 * It is what filemap_add_folio() does, but for what need not be looked for, and
 * no refault is counted; the lists of pages get them later, and NR_FILE_PAGES
 * as well. Whatever changes a page of a file that has no folio takes its entry
 * away before.
 * Return: how many entries were there.
 */
unsigned int rental_replace(struct address_space *mapping,
			    const struct rental_region *region,
			    struct rental_slot **slots, struct folio **folios,
			    unsigned int nr)
{
	XA_STATE(xas, &mapping->i_pages, 0);
	unsigned int i, moved = 0;
	struct leaf leaf = {};

	mapping_set_update(&xas, mapping);
	xas_lock_irq(&xas);
	/* Of an inode that is evicted nobody looks for new pages any more. */
	if (mapping_exiting(mapping) || atomic_read(excluded_of(mapping)))
		nr = 0;
	for (i = nr; i--;) {
		void *entry = rental_make_entry(region, slots[i]);
		struct folio *folio = folios[i];
		pgoff_t index = slots[i]->index;

		if (load_entry(&xas, &leaf, index) != entry)
			continue;
		__folio_mark_uptodate(folio);
		folio_set_active(folio);
		folio_get(folio);
		folio->mapping = mapping;
		folio->index = index;
		replace_entry(&xas, &leaf, index, folio, -1);
		trace_mm_filemap_add_to_page_cache(folio);
		moved++;
		if (nr - moved != i)
			swap(folios[nr - moved], folios[i]);
	}
	mapping->nrpages += moved;
	xas_unlock_irq(&xas);
	return moved;
}

/**
 * rental_overwrite() - drop the copies of pages that are written as a whole
 * @mapping: the file
 * @position: where it will be written
 * @size: how many bytes
 *
 * Their folios need not have what was there.
 */
void rental_overwrite(struct address_space *mapping, loff_t position, size_t size)
{
	pgoff_t index = DIV_ROUND_UP(position, PAGE_SIZE);
	pgoff_t end = (position + size) >> PAGE_SHIFT;

	/* Entries of shmem are of swap. */
	if (!static_branch_unlikely(&rental_used) || shmem_mapping(mapping))
		return;
	for (; index < end; index++) {
		XA_STATE(xas, &mapping->i_pages, index);
		void *entry;

		if (!rental_entry(xa_load(&mapping->i_pages, index)))
			continue;
		mapping_set_update(&xas, mapping);
		xas_lock_irq(&xas);
		entry = xas_load(&xas);
		if (rental_entry(entry)) {
			entry = rental_use_up(entry, NULL, RENTAL_HITS_OVERWRITTEN);
			xas_store(&xas, entry);
		}
		xas_unlock_irq(&xas);
	}
}

/**
 * rental_forget() - drop the copies of a range of a file
 * @mapping: the file
 * @first: first page
 * @last: last page, inclusive
 *
 * Their shadow entries stay. For what changes a file without a folio.
 * Context: may sleep.
 */
void rental_forget(struct address_space *mapping, pgoff_t first, pgoff_t last)
{
	XA_STATE(xas, &mapping->i_pages, first);
	unsigned int visited = 0;
	void *entry;

	if (!static_branch_unlikely(&rental_used) || dax_mapping(mapping) ||
	    shmem_mapping(mapping))
		return;
	mapping_set_update(&xas, mapping);
	spin_lock(&mapping->host->i_lock);
	xas_lock_irq(&xas);
	xas_for_each(&xas, entry, last) {
		if (rental_entry(entry))
			xas_store(&xas, rental_take(entry, NULL));
		if (++visited % XA_CHECK_SCHED)
			continue;
		xas_pause(&xas);
		xas_unlock_irq(&xas);
		cond_resched_lock(&mapping->host->i_lock);
		xas_lock_irq(&xas);
	}
	xas_unlock_irq(&xas);
	if (mapping_shrinkable(mapping))
		inode_add_lru(mapping->host);
	spin_unlock(&mapping->host->i_lock);
}

/**
 * rental_exclude() - have no copies of a range, and make none of its file
 * @mapping: the file
 * @first: first page
 * @last: last page, inclusive
 *
 * For invalidation. It looks at each page once; without this a folio could be
 * evicted before its turn, and be there again after it with what it had before.
 * Until rental_include() pages of the file come from its disk.
 * Context: may sleep.
 */
void rental_exclude(struct address_space *mapping, pgoff_t first, pgoff_t last)
{
	/* Pairs with the lock of i_pages, which who stores or takes has after. */
	atomic_inc(excluded_of(mapping));
	rental_forget(mapping, first, last);
}

/**
 * rental_include() - end what rental_exclude() began
 * @mapping: the file
 */
void rental_include(struct address_space *mapping)
{
	atomic_dec(excluded_of(mapping));
}

/**
 * rental_dirtyable_pages() - how many pages the limits of dirty pages may count
 *
 * Rented memory is never dirty. But for each page of it there is one that need
 * not be kept elsewhere, and may be dirty; the setting rental/dirtyable in
 * debugfs says whether it is counted.
 */
unsigned long rental_dirtyable_pages(void)
{
	return READ_ONCE(rental_dirtyable) ? READ_ONCE(rental_rented_pages) : 0;
}
