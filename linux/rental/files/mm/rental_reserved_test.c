// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of what nodes of the device tree say of rental memory: with nodes that
 * are in no tree, and a region in ordinary memory.
 */
#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/of.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "rental.h"

#define SIZE	(2 * RENTAL_CHUNK)

/* A node, its properties, and the memory that it describes. */
struct fixture {
	struct device_node node;
	struct property properties[3];
	unsigned int nr_properties;
	struct page *pages;
	phys_addr_t start;
};

static void add_property(struct fixture *it, char *name, const void *value,
			 int length)
{
	struct property *property = &it->properties[it->nr_properties++];

	property->name = name;
	property->value = (void *)value;
	property->length = length;
	property->next = it->node.properties;
	it->node.properties = property;
}

static void be_node(struct fixture *it, const char *name)
{
	of_node_init(&it->node);
	it->node.name = name;
	it->node.full_name = name;
	it->node.properties = NULL;
	it->nr_properties = 0;
}

static int rental_reserved_test_init(struct kunit *test)
{
	struct fixture *it = kunit_kzalloc(test, sizeof(*it), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, it);
	it->pages = alloc_pages(GFP_KERNEL, get_order(SIZE));
	KUNIT_ASSERT_NOT_NULL(test, it->pages);
	it->start = page_to_phys(it->pages);
	be_node(it, "rental-test@0");
	test->priv = it;
	return 0;
}

static struct rental_region *region_of(const struct fixture *it)
{
	unsigned int number;

	for (number = 0; number < RENTAL_REGIONS; number++)
		if (rental_regions[number] &&
		    rental_regions[number]->node == &it->node)
			return rental_regions[number];
	return NULL;
}

static void rental_reserved_test_exit(struct kunit *test)
{
	struct fixture *it = test->priv;
	struct rental_region *region;

	if (!it)
		return;
	region = region_of(it);
	if (region)
		rental_remove_region(region);
	__free_pages(it->pages, get_order(SIZE));
}

static void rental_reserved_test_node_is_lent_and_found(struct kunit *test)
{
	struct fixture *it = test->priv;
	struct rental_region *region;
	phys_addr_t start;
	size_t size;

	add_property(it, "reusable", NULL, 0);
	KUNIT_ASSERT_EQ(test, rental_add_node(&it->node, it->start, SIZE), 0);
	region = rental_reserved_region("rental-test", false);
	KUNIT_ASSERT_PTR_EQ(test, region, region_of(it));
	KUNIT_EXPECT_EQ(test, region->nr_rented, SIZE >> PAGE_SHIFT);
	KUNIT_EXPECT_FALSE(test, region->scrubs);
	rental_region_range(region, &start, &size);
	KUNIT_EXPECT_EQ(test, start, it->start);
	KUNIT_EXPECT_EQ(test, size, SIZE);
	/* Its driver takes it back and lends it again. */
	KUNIT_EXPECT_EQ(test, return_memory(region, 0, SIZE, RENTAL_SCRUB_NONE,
					    NULL), 0);
	KUNIT_EXPECT_EQ(test, region->nr_rented, 0);
	KUNIT_EXPECT_EQ(test, rent_memory(region, 0, SIZE, false), 0);
	/* One that overwrites what was stored finds it lent like that. */
	KUNIT_EXPECT_PTR_EQ(test, rental_reserved_region("rental-test", true),
			    region);
	KUNIT_EXPECT_TRUE(test, region->scrubs);
	KUNIT_EXPECT_EQ(test, region->nr_rented, SIZE >> PAGE_SHIFT);
	/* While one uses a part of it, no other can have it. */
	KUNIT_EXPECT_EQ(test, return_memory(region, 0, RENTAL_CHUNK,
					    RENTAL_SCRUB_NONE, NULL), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(rental_reserved_region("rental-test", false)),
			-EINVAL);
}

static void rental_reserved_test_other_names_are_not_found(struct kunit *test)
{
	struct fixture *it = test->priv;

	KUNIT_EXPECT_EQ(test, PTR_ERR(rental_reserved_region("rental-test", false)),
			-ENOENT);
	add_property(it, "reusable", NULL, 0);
	KUNIT_ASSERT_EQ(test, rental_add_node(&it->node, it->start, SIZE), 0);
	KUNIT_EXPECT_EQ(test, PTR_ERR(rental_reserved_region("rental", false)),
			-ENOENT);
	/* A node without memory-region. */
	KUNIT_EXPECT_EQ(test, PTR_ERR(rental_device_region(&it->node, 0, false)),
			-ENOENT);
}

static void rental_reserved_test_wrong_memory_is_refused(struct kunit *test)
{
	struct fixture *it = test->priv;
	struct device_node *node = &it->node;

	KUNIT_EXPECT_EQ(test, rental_add_node(node, it->start, SIZE), -EINVAL);
	add_property(it, "reusable", NULL, 0);
	KUNIT_EXPECT_EQ(test, rental_add_node(node, it->start + 1, SIZE - PAGE_SIZE),
			-EINVAL);
	KUNIT_EXPECT_EQ(test, rental_add_node(node, it->start, SIZE - 512), -EINVAL);
	KUNIT_EXPECT_EQ(test, rental_add_node(node, it->start, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, rental_add_node(node, it->start,
					      RENTAL_CHUNK - PAGE_SIZE), -EINVAL);
	KUNIT_EXPECT_EQ(test, rental_add_node(node, -PAGE_SIZE, SIZE), -EINVAL);
	KUNIT_EXPECT_NULL(test, region_of(it));
	add_property(it, "no-map", NULL, 0);
	KUNIT_EXPECT_EQ(test, rental_add_node(node, it->start, SIZE), -EINVAL);
	KUNIT_EXPECT_NULL(test, region_of(it));
}

static void rental_reserved_test_overlap_is_refused(struct kunit *test)
{
	struct fixture *it = test->priv;
	struct fixture *other = kunit_kzalloc(test, sizeof(*other), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, other);
	be_node(other, "other");
	add_property(it, "reusable", NULL, 0);
	add_property(other, "reusable", NULL, 0);
	KUNIT_ASSERT_EQ(test, rental_add_node(&it->node, it->start, SIZE), 0);
	KUNIT_EXPECT_EQ(test, rental_add_node(&other->node,
					      it->start + RENTAL_CHUNK,
					      RENTAL_CHUNK), -EEXIST);
	KUNIT_EXPECT_EQ(test, rental_add_node(&it->node, it->start, SIZE), -EEXIST);
	KUNIT_EXPECT_NULL(test, region_of(other));
	KUNIT_EXPECT_EQ(test, region_of(it)->nr_rented, SIZE >> PAGE_SHIFT);
}

static void rental_reserved_test_holes_are_not_lent(struct kunit *test)
{
	const __be64 holes[] = {
		cpu_to_be64(0), cpu_to_be64(2 * PAGE_SIZE),
		cpu_to_be64(SIZE - PAGE_SIZE), cpu_to_be64(PAGE_SIZE),
	};
	struct fixture *it = test->priv;

	add_property(it, "reusable", NULL, 0);
	add_property(it, "trimtab,holes", holes, sizeof(holes));
	KUNIT_ASSERT_EQ(test, rental_add_node(&it->node, it->start, SIZE), 0);
	KUNIT_EXPECT_EQ(test, region_of(it)->nr_holes, 3);
	KUNIT_EXPECT_EQ(test, region_of(it)->nr_rented, (SIZE >> PAGE_SHIFT) - 3);
}

static void rental_reserved_test_wrong_holes_are_refused(struct kunit *test)
{
	const __be64 all[] = { cpu_to_be64(0), cpu_to_be64(SIZE) };
	const __be64 outside[] = { cpu_to_be64(SIZE), cpu_to_be64(PAGE_SIZE) };
	const __be64 parts[] = { cpu_to_be64(512), cpu_to_be64(PAGE_SIZE) };
	const __be64 odd[] = { cpu_to_be64(0), cpu_to_be64(PAGE_SIZE), 0 };
	struct fixture *it = test->priv;
	struct {
		const void *value;
		int length;
		int error;
	} cases[] = {
		{ all, sizeof(all), -EINVAL },
		{ outside, sizeof(outside), -ERANGE },
		{ parts, sizeof(parts), -EINVAL },
		{ odd, sizeof(odd), -EINVAL },
		{ all, 4, -EINVAL },
		{ NULL, 0, -EINVAL },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		be_node(it, "rental-test@0");
		add_property(it, "reusable", NULL, 0);
		add_property(it, "trimtab,holes", cases[i].value, cases[i].length);
		KUNIT_EXPECT_EQ(test, rental_add_node(&it->node, it->start, SIZE),
				cases[i].error);
		KUNIT_EXPECT_NULL(test, region_of(it));
	}
}

static struct kunit_case rental_reserved_test_cases[] = {
	KUNIT_CASE(rental_reserved_test_node_is_lent_and_found),
	KUNIT_CASE(rental_reserved_test_other_names_are_not_found),
	KUNIT_CASE(rental_reserved_test_wrong_memory_is_refused),
	KUNIT_CASE(rental_reserved_test_overlap_is_refused),
	KUNIT_CASE(rental_reserved_test_holes_are_not_lent),
	KUNIT_CASE(rental_reserved_test_wrong_holes_are_refused),
	{}
};

static struct kunit_suite rental_reserved_test_suite = {
	.name = "rental_reserved",
	.init = rental_reserved_test_init,
	.exit = rental_reserved_test_exit,
	.test_cases = rental_reserved_test_cases,
};

kunit_test_suite(rental_reserved_test_suite);
