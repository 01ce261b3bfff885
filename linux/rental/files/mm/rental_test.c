// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of rental memory that need no file system: with regions in ordinary
 * memory, and folios that belong to no file.
 */
#include <kunit/test.h>
#include <linux/fs.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>

#include "internal.h"
#include "rental.h"

#define CHUNKS	3
#define SLOTS	(CHUNKS * RENTAL_CHUNK_SLOTS - 10)
#define SIZE	(SLOTS << PAGE_SHIFT)

static struct rental_region *region;

static int rental_test_init(struct kunit *test)
{
	unsigned int number;
	void *memory;

	for (number = 0; number < RENTAL_REGIONS; number++)
		if (rental_regions[number])
			kunit_skip(test, "a device has memory to rent");
	memory = vmalloc(SIZE);
	KUNIT_ASSERT_NOT_NULL(test, memory);
	region = rental_new_region("test", memory, SLOTS);
	if (!region) {
		vfree(memory);
		KUNIT_FAIL_AND_ABORT(test, "no memory");
	}
	region->number = 5;
	spin_lock_irq(&rental_lock);
	rental_regions[5] = region;
	spin_unlock_irq(&rental_lock);
	return 0;
}

static void rental_test_exit(struct kunit *test)
{
	void *memory;

	if (!region)
		return;
	memory = region->memory;
	rental_remove_region(region);
	region = NULL;
	vfree(memory);
}

static struct folio *folio_of(struct kunit *test, char byte)
{
	struct folio *folio = folio_alloc(GFP_KERNEL, 0);

	KUNIT_ASSERT_NOT_NULL(test, folio);
	memset(folio_address(folio), byte, PAGE_SIZE);
	return folio;
}

/* Stores a page full of one byte. The shadow has its index. */
static void *store(struct kunit *test, u32 index, char byte)
{
	struct rental_owner owner = { .device = 1, .ino = 2, .index = index };
	struct folio *folio = folio_of(test, byte);
	void *entry;

	local_irq_disable();
	entry = rental_store_copy(folio, xa_mk_value(index), false, &owner);
	local_irq_enable();
	folio_put(folio);
	return entry;
}

/* Takes it: the byte, or -1 if there is no copy. */
static int take(struct kunit *test, void *entry, void **shadow)
{
	struct folio *folio = folio_of(test, 0x5a);
	char *bytes = folio_address(folio);
	int byte = -1;

	*shadow = rental_take(entry, folio);
	if (folio_test_uptodate(folio)) {
		KUNIT_EXPECT_NULL(test, memchr_inv(bytes, bytes[0], PAGE_SIZE));
		byte = bytes[0];
	} else {
		KUNIT_EXPECT_NULL(test, memchr_inv(bytes, 0x5a, PAGE_SIZE));
	}
	folio_put(folio);
	return byte;
}

/* Reads where it is, from a file of so many bytes: how many bytes were read. */
static size_t read(struct kunit *test, void *entry, loff_t size, loff_t from,
		   char *to, size_t bytes)
{
	struct kvec vector = { .iov_base = to, .iov_len = bytes };
	struct inode *inode = kunit_kzalloc(test, sizeof(*inode), GFP_KERNEL);
	struct iov_iter iter;
	size_t copied;

	KUNIT_ASSERT_NOT_NULL(test, inode);
	i_size_write(inode, size);
	iov_iter_kvec(&iter, ITER_DEST, &vector, 1, bytes);
	copied = rental_read_copy(entry, inode, from, &iter);
	KUNIT_EXPECT_EQ(test, iov_iter_count(&iter), bytes - copied);
	kunit_kfree(test, inode);
	return copied;
}

static void rental_test_copy_is_used_once(struct kunit *test)
{
	void *entry, *shadow;

	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	entry = store(test, 7, 'a');
	KUNIT_ASSERT_TRUE(test, rental_entry(entry));
	KUNIT_EXPECT_PTR_EQ(test, rental_shadow(entry), xa_mk_value(7));
	KUNIT_EXPECT_EQ(test, take(test, entry, &shadow), 'a');
	KUNIT_EXPECT_PTR_EQ(test, shadow, xa_mk_value(7));
	KUNIT_EXPECT_EQ(test, take(test, entry, &shadow), -1);
}

static void rental_test_oldest_makes_room(struct kunit *test)
{
	void **entries = kunit_kcalloc(test, SLOTS + 1, sizeof(*entries),
				       GFP_KERNEL);
	void *shadow;
	unsigned long i;

	KUNIT_ASSERT_NOT_NULL(test, entries);
	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	for (i = 0; i < SLOTS; i++)
		entries[i] = store(test, i, i % 100);
	/* The first is used: the second is the oldest now, but one is free. */
	KUNIT_EXPECT_EQ(test, take(test, entries[0], &shadow), 0);
	entries[0] = store(test, SLOTS, 1);
	entries[SLOTS] = store(test, SLOTS + 1, 2);
	KUNIT_EXPECT_EQ(test, take(test, entries[1], &shadow), -1);
	KUNIT_EXPECT_NULL(test, shadow);
	KUNIT_EXPECT_EQ(test, take(test, entries[0], &shadow), 1);
	KUNIT_EXPECT_EQ(test, take(test, entries[SLOTS], &shadow), 2);
	for (i = 2; i < SLOTS; i++) {
		KUNIT_EXPECT_EQ(test, take(test, entries[i], &shadow), i % 100);
		KUNIT_EXPECT_PTR_EQ(test, shadow, xa_mk_value(i));
	}
}

static void rental_test_copies_are_read_where_they_are(struct kunit *test)
{
	char *bytes = kunit_kzalloc(test, 2 * PAGE_SIZE, GFP_KERNEL);
	loff_t page = 7 * PAGE_SIZE, end = page + PAGE_SIZE;
	void *entry, *shadow;

	KUNIT_ASSERT_NOT_NULL(test, bytes);
	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	entry = store(test, 7, 'o');
	KUNIT_EXPECT_TRUE(test, rental_present(entry));
	/* To the end of the page, and of the file. */
	KUNIT_EXPECT_EQ(test, read(test, entry, end + 1, page, bytes,
				   2 * PAGE_SIZE), PAGE_SIZE);
	KUNIT_EXPECT_NULL(test, memchr_inv(bytes, 'o', PAGE_SIZE));
	KUNIT_EXPECT_NULL(test, memchr_inv(bytes + PAGE_SIZE, 0, PAGE_SIZE));
	KUNIT_EXPECT_EQ(test, read(test, entry, end - 5, end - 9, bytes, 100), 4);
	KUNIT_EXPECT_EQ(test, read(test, entry, page, page, bytes, 100), 0);
	/* It is there still, and once it is taken it is not. */
	KUNIT_EXPECT_EQ(test, take(test, entry, &shadow), 'o');
	KUNIT_EXPECT_EQ(test, read(test, entry, end, page, bytes, 100), 0);
	KUNIT_EXPECT_FALSE(test, rental_present(entry));
}

static void rental_test_what_is_read_stays(struct kunit *test)
{
	void *shadow, *entries[2], *entry;
	unsigned long i;
	char byte;

	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	entries[0] = store(test, 1, 'p');
	entries[1] = store(test, 2, 'q');
	for (i = 2; i < SLOTS; i++)
		store(test, 1 + i, 'x');
	KUNIT_EXPECT_EQ(test, read(test, entries[0], S64_MAX, 0, &byte, 1), 1);
	entry = store(test, 1 + SLOTS, 'r');
	KUNIT_EXPECT_EQ(test, take(test, entries[1], &shadow), -1);
	KUNIT_EXPECT_EQ(test, take(test, entries[0], &shadow), 'p');
	KUNIT_EXPECT_EQ(test, take(test, entry, &shadow), 'r');
}

static void rental_test_active_copies_are_counted(struct kunit *test)
{
	void *entries[2], *shadow;
	char byte;

	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	entries[0] = store(test, 1, 's');
	entries[1] = store(test, 2, 't');
	KUNIT_EXPECT_EQ(test, region->nr_active[0], 0);
	KUNIT_EXPECT_EQ(test, read(test, entries[0], S64_MAX, 0, &byte, 1), 1);
	KUNIT_EXPECT_EQ(test, read(test, entries[0], S64_MAX, 0, &byte, 1), 1);
	KUNIT_EXPECT_EQ(test, region->nr_active[0], 1);
	KUNIT_EXPECT_EQ(test, read(test, entries[1], S64_MAX, 0, &byte, 1), 1);
	KUNIT_EXPECT_EQ(test, region->nr_active[0], 2);
	KUNIT_EXPECT_EQ(test, take(test, entries[0], &shadow), 's');
	KUNIT_EXPECT_EQ(test, region->nr_active[0], 1);
	rental_drop_all();
	KUNIT_EXPECT_EQ(test, region->nr_active[0], 0);
}

static void rental_test_return_ends_copies(struct kunit *test)
{
	void *entry, *shadow;

	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	entry = store(test, 9, 'b');
	KUNIT_ASSERT_EQ(test, return_memory(region, 0, SIZE,
					    RENTAL_SCRUB_NONE, NULL), 0);
	KUNIT_EXPECT_EQ(test, take(test, entry, &shadow), -1);
	KUNIT_EXPECT_PTR_EQ(test, shadow, xa_mk_value(9));
	/* Nothing is stored now. */
	KUNIT_EXPECT_PTR_EQ(test, store(test, 10, 'c'), xa_mk_value(10));
	/* Rented again it has nothing of before, but that is still known. */
	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	KUNIT_EXPECT_EQ(test, take(test, entry, &shadow), -1);
	KUNIT_EXPECT_PTR_EQ(test, shadow, xa_mk_value(9));
}

static void rental_test_parts_are_rented_and_returned(struct kunit *test)
{
	void *kept, *lost, *shadow;
	unsigned long i;

	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	lost = store(test, 0, 'd');
	for (i = 1; i < RENTAL_CHUNK_SLOTS; i++)
		store(test, i, 'x');
	kept = store(test, RENTAL_CHUNK_SLOTS, 'e');
	KUNIT_ASSERT_EQ(test, return_memory(region, 0, RENTAL_CHUNK,
					    RENTAL_SCRUB_NONE, NULL), 0);
	KUNIT_EXPECT_EQ(test, region->nr_rented, SLOTS - RENTAL_CHUNK_SLOTS);
	KUNIT_EXPECT_EQ(test, take(test, lost, &shadow), -1);
	KUNIT_EXPECT_EQ(test, take(test, kept, &shadow), 'e');
	/* No copy goes to what is returned, however many there are. */
	for (i = 0; i < 2 * SLOTS; i++)
		store(test, 10000 + i, 'f');
	for (i = 0; i < RENTAL_CHUNK_SLOTS; i++)
		KUNIT_EXPECT_LT(test, xa_to_value(region->slots[i].shadow),
				10000);
	KUNIT_EXPECT_EQ(test, rent_memory(region, 0, RENTAL_CHUNK, false), 0);
	KUNIT_EXPECT_EQ(test, region->nr_rented, SLOTS);
}

static void rental_test_wrong_ranges_are_refused(struct kunit *test)
{
	int (*rent)(struct rental_region *, size_t, size_t, bool) = rent_memory;

	KUNIT_EXPECT_EQ(test, rent(region, 0, 0, false), -ERANGE);
	KUNIT_EXPECT_EQ(test, rent(region, 0, SIZE + PAGE_SIZE, false), -ERANGE);
	KUNIT_EXPECT_EQ(test, rent(region, SIZE, PAGE_SIZE, false), -ERANGE);
	KUNIT_EXPECT_EQ(test, rent(region, RENTAL_CHUNK, SIZE_MAX, false), -ERANGE);
	KUNIT_EXPECT_EQ(test, rent(region, PAGE_SIZE, RENTAL_CHUNK, false), -EINVAL);
	KUNIT_EXPECT_EQ(test, rent(region, 0, PAGE_SIZE, false), -EINVAL);
	KUNIT_EXPECT_EQ(test, return_memory(region, 0, SIZE, RENTAL_SCRUB_NONE,
					    NULL), -EINVAL);
	KUNIT_ASSERT_EQ(test, rent(region, RENTAL_CHUNK, RENTAL_CHUNK, false), 0);
	KUNIT_EXPECT_EQ(test, rent(region, 0, SIZE, false), -EBUSY);
	KUNIT_EXPECT_EQ(test, rent(region, 0, RENTAL_CHUNK, true), -EINVAL);
	KUNIT_EXPECT_EQ(test, return_memory(region, 0, 2 * RENTAL_CHUNK,
					    RENTAL_SCRUB_NONE, NULL), -EINVAL);
	KUNIT_EXPECT_EQ(test, return_memory(region, RENTAL_CHUNK, RENTAL_CHUNK,
					    RENTAL_SCRUB_NONE, NULL), 0);
	KUNIT_EXPECT_EQ(test, region->nr_rented, 0);
}

static void rental_test_regions_must_be_sound(struct kunit *test)
{
	phys_addr_t start = virt_to_phys(page_address(ZERO_PAGE(0)));

	KUNIT_EXPECT_EQ(test, PTR_ERR(rental_add_region("a", start, 0)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(rental_add_region("a", start + 1, PAGE_SIZE)),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(rental_add_region("a", start, 100)), -EINVAL);
	KUNIT_EXPECT_EQ(test, PTR_ERR(rental_add_region("a", -PAGE_SIZE,
							2 * PAGE_SIZE)), -EINVAL);
}

static void rental_test_holes_are_left_out(struct kunit *test)
{
	unsigned long i;

	KUNIT_EXPECT_EQ(test, rental_add_hole(region, 1, PAGE_SIZE), -EINVAL);
	KUNIT_EXPECT_EQ(test, rental_add_hole(region, 0, SIZE), -EINVAL);
	KUNIT_EXPECT_EQ(test, rental_add_hole(region, SIZE, PAGE_SIZE), -ERANGE);
	KUNIT_ASSERT_EQ(test, rental_add_hole(region, 3 * PAGE_SIZE,
					      2 * PAGE_SIZE), 0);
	/* Once more is no more. */
	KUNIT_ASSERT_EQ(test, rental_add_hole(region, 4 * PAGE_SIZE, PAGE_SIZE), 0);
	KUNIT_EXPECT_EQ(test, region->nr_holes, 2);
	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	KUNIT_EXPECT_EQ(test, region->nr_rented, SLOTS - 2);
	KUNIT_EXPECT_EQ(test, rental_add_hole(region, 0, PAGE_SIZE), -EBUSY);
	for (i = 0; i < 2 * SLOTS; i++)
		store(test, i, 'g');
	KUNIT_EXPECT_FALSE(test, test_bit(3, region->dirty));
	KUNIT_EXPECT_FALSE(test, test_bit(4, region->dirty));
	KUNIT_EXPECT_EQ(test, return_memory(region, 0, SIZE, RENTAL_SCRUB_NOW,
					    NULL), 0);
	KUNIT_EXPECT_EQ(test, region->nr_rented, 0);
}

static void rental_test_what_is_not_rented_is_not_overwritten(struct kunit *test)
{
	void *memory = region->memory;
	unsigned long i;

	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	for (i = 0; i < SLOTS; i++)
		store(test, i, 'o');
	KUNIT_ASSERT_EQ(test, return_memory(region, 0, SIZE, RENTAL_SCRUB_NONE,
					    NULL), 0);
	memset(memory, 'p', SIZE);
	KUNIT_ASSERT_EQ(test, rental_add_hole(region, 0, PAGE_SIZE), 0);
	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, RENTAL_CHUNK, false), 0);
	KUNIT_ASSERT_EQ(test, return_memory(region, 0, RENTAL_CHUNK,
					    RENTAL_SCRUB_NOW, NULL), 0);
	KUNIT_EXPECT_NULL(test, memchr_inv(memory, 'p', PAGE_SIZE));
	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, RENTAL_CHUNK, false), 0);
	rental_remove_region(region);
	region = NULL;
	KUNIT_EXPECT_NULL(test, memchr_inv(memory + RENTAL_CHUNK, 'p',
					   SIZE - RENTAL_CHUNK));
	vfree(memory);
}

static void rental_test_scrub_overwrites_what_was_stored(struct kunit *test)
{
	unsigned long i;

	memset(region->memory, 'h', SIZE);
	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, true), 0);
	for (i = 0; i < 5; i++)
		store(test, i, 'i');
	KUNIT_ASSERT_EQ(test, return_memory(region, 0, SIZE,
					    RENTAL_SCRUB_LATER, NULL), 0);
	KUNIT_EXPECT_NOT_NULL(test, memchr(region->memory, 'i', SIZE));
	rental_scrub(region, 100, 2 * PAGE_SIZE);
	KUNIT_EXPECT_NULL(test, memchr_inv(region->memory, 0, 3 * PAGE_SIZE));
	rental_scrub(region, 0, SIZE_MAX / 2);
	KUNIT_EXPECT_NULL(test, memchr(region->memory, 'i', SIZE));
	/* What had no copy is the device's, and stays. */
	KUNIT_EXPECT_NULL(test, memchr_inv(region->memory + 5 * PAGE_SIZE, 'h',
					   SIZE - 5 * PAGE_SIZE));
}

static void rental_test_encrypted_files_need_a_scrub(struct kunit *test)
{
	struct rental_owner owner = { .device = 1, .ino = 2 };
	struct folio *folio = folio_of(test, 'j');
	void *entry;

	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	local_irq_disable();
	entry = rental_store_copy(folio, xa_mk_value(1), true, &owner);
	local_irq_enable();
	KUNIT_EXPECT_FALSE(test, rental_entry(entry));
	KUNIT_ASSERT_EQ(test, return_memory(region, 0, SIZE, RENTAL_SCRUB_NONE,
					    NULL), 0);
	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, true), 0);
	local_irq_disable();
	entry = rental_store_copy(folio, xa_mk_value(1), true, &owner);
	local_irq_enable();
	KUNIT_EXPECT_TRUE(test, rental_entry(entry));
	folio_put(folio);
}

static void rental_test_drop_keeps_what_is_rented(struct kunit *test)
{
	void *entry, *shadow;

	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, RENTAL_CHUNK, false), 0);
	entry = store(test, 1, 'k');
	rental_drop_all();
	KUNIT_EXPECT_EQ(test, take(test, entry, &shadow), -1);
	KUNIT_EXPECT_EQ(test, region->nr_rented, RENTAL_CHUNK_SLOTS);
	entry = store(test, 2, 'l');
	KUNIT_EXPECT_EQ(test, take(test, entry, &shadow), 'l');
}

static void rental_test_policy_stores_the_second_time(struct kunit *test)
{
	unsigned int before = rental_policy;
	void *entry, *shadow;

	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	rental_policy = RENTAL_STORE_TWICE;
	KUNIT_EXPECT_FALSE(test, rental_entry(store(test, 987654, 'm')));
	entry = store(test, 987654, 'n');
	rental_policy = before;
	KUNIT_EXPECT_EQ(test, take(test, entry, &shadow), 'n');
}

/* A file with nothing but its pages. */
static struct address_space *file_of(struct kunit *test)
{
	struct inode *inode = kunit_kzalloc(test, sizeof(*inode), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, inode);
	inode_init_once(inode);
	spin_lock_init(&inode->i_lock);
	atomic_set(&inode->i_count, 1);
	inode->i_mode = S_IFREG;
	inode->i_mapping = &inode->i_data;
	inode->i_data.host = inode;
	inode->i_data.a_ops = &empty_aops;
	return &inode->i_data;
}

static void rental_test_what_is_used_is_not_evicted(struct kunit *test)
{
	struct address_space *mapping = file_of(test);
	struct folio *folios[5], *dirty, *used;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		folios[i] = folio_of(test, 'u');
		__folio_set_locked(folios[i]);
		KUNIT_ASSERT_EQ(test, __filemap_add_folio(mapping, folios[i], i + 1,
							  GFP_KERNEL, NULL), 0);
		folio_mark_uptodate(folios[i]);
	}
	dirty = folios[1];
	used = folios[3];
	folio_set_dirty(dirty);
	folio_get(used);
	KUNIT_EXPECT_EQ(test, rental_evict(mapping, folios, 5), 3);
	KUNIT_EXPECT_EQ(test, mapping->nrpages, 2);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_NULL(test, folios[i]->mapping);
		KUNIT_EXPECT_EQ(test, folio_ref_count(folios[i]), 0);
		KUNIT_EXPECT_TRUE(test, xa_is_value(xa_load(&mapping->i_pages,
							    folios[i]->index)));
		folio_ref_unfreeze(folios[i], 1);
		lruvec_stat_sub_folio(folios[i], NR_FILE_PAGES);
	}
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&mapping->i_pages, 2), dirty);
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&mapping->i_pages, 4), used);
	folio_clear_dirty(dirty);
	folio_put(used);
	for (i = 0; i < 5; i++)
		folio_unlock(folios[i]);
	truncate_inode_pages(mapping, 0);
	KUNIT_EXPECT_TRUE(test, mapping_empty(mapping));
	for (i = 0; i < 5; i++)
		folio_put(folios[i]);
}

static void rental_test_copies_are_replaced_where_they_are(struct kunit *test)
{
	struct address_space *mapping = file_of(test);
	struct rental_slot *slots[3];
	struct folio *folios[3];
	unsigned int i;

	KUNIT_ASSERT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	for (i = 0; i < 3; i++) {
		void *entry = store(test, i + 1, 'v');

		slots[i] = &region->slots[i];
		KUNIT_ASSERT_EQ(test, slots[i]->index, i + 1);
		folios[i] = folio_of(test, 'v');
		/* Another page has come in place of the second one. */
		if (i == 1)
			entry = xa_mk_value(1);
		xa_store(&mapping->i_pages, i + 1, entry, GFP_KERNEL);
	}
	KUNIT_EXPECT_EQ(test, rental_replace(mapping, region, slots, folios, 3), 2);
	KUNIT_EXPECT_EQ(test, mapping->nrpages, 2);
	KUNIT_EXPECT_NULL(test, folios[0]->mapping);
	KUNIT_EXPECT_EQ(test, folio_ref_count(folios[0]), 1);
	for (i = 1; i < 3; i++) {
		KUNIT_EXPECT_PTR_EQ(test, folios[i]->mapping, mapping);
		KUNIT_EXPECT_NE(test, folios[i]->index, 2);
		KUNIT_EXPECT_PTR_EQ(test, xa_load(&mapping->i_pages,
						  folios[i]->index), folios[i]);
		KUNIT_EXPECT_TRUE(test, folio_test_uptodate(folios[i]));
		/* Only what is in a list may have it. */
		folio_clear_active(folios[i]);
		lruvec_stat_add_folio(folios[i], NR_FILE_PAGES);
	}
	KUNIT_EXPECT_PTR_EQ(test, xa_load(&mapping->i_pages, 2), xa_mk_value(1));
	/* Of an inode that is being evicted no page is moved. */
	mapping_set_exiting(mapping);
	xa_store(&mapping->i_pages, 2, rental_make_entry(region, slots[1]),
		 GFP_KERNEL);
	KUNIT_EXPECT_EQ(test, rental_replace(mapping, region, slots + 1, folios, 1), 0);
	truncate_inode_pages(mapping, 0);
	for (i = 0; i < 3; i++)
		folio_put(folios[i]);
}

static struct kunit_case rental_test_cases[] = {
	KUNIT_CASE(rental_test_copy_is_used_once),
	KUNIT_CASE(rental_test_oldest_makes_room),
	KUNIT_CASE(rental_test_copies_are_read_where_they_are),
	KUNIT_CASE(rental_test_what_is_read_stays),
	KUNIT_CASE(rental_test_active_copies_are_counted),
	KUNIT_CASE(rental_test_return_ends_copies),
	KUNIT_CASE(rental_test_parts_are_rented_and_returned),
	KUNIT_CASE(rental_test_wrong_ranges_are_refused),
	KUNIT_CASE(rental_test_regions_must_be_sound),
	KUNIT_CASE(rental_test_holes_are_left_out),
	KUNIT_CASE(rental_test_what_is_not_rented_is_not_overwritten),
	KUNIT_CASE(rental_test_scrub_overwrites_what_was_stored),
	KUNIT_CASE(rental_test_encrypted_files_need_a_scrub),
	KUNIT_CASE(rental_test_drop_keeps_what_is_rented),
	KUNIT_CASE(rental_test_policy_stores_the_second_time),
	KUNIT_CASE(rental_test_what_is_used_is_not_evicted),
	KUNIT_CASE(rental_test_copies_are_replaced_where_they_are),
	{}
};

static struct kunit_suite rental_test_suite = {
	.name = "rental",
	.init = rental_test_init,
	.exit = rental_test_exit,
	.test_cases = rental_test_cases,
};

kunit_test_suite(rental_test_suite);
