// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tests of what swapping cold code decides and counts. Included by coldswap.c.
 */
#include <kunit/test.h>
#include <linux/jump_label.h>

#define TEST_FRAMES 8
#define TEST_PATCHES 10

static void pick_expect(struct kunit *test, struct cold_picker *p, unsigned long occupied_bits,
			unsigned long young_bits, int spared, int frame, bool aged)
{
	bool age;

	KUNIT_EXPECT_EQ(test, frame, cold_pick(p, TEST_FRAMES, &occupied_bits, &young_bits,
					       spared, &age));
	KUNIT_EXPECT_EQ(test, aged, age);
}

static void cold_test_round_robin(struct kunit *test)
{
	struct cold_picker p = { .policy = ROUND_ROBIN };
	int i;

	/* Whether pages were used does not matter. */
	for (i = 0; i < 2 * TEST_FRAMES; i++)
		pick_expect(test, &p, 0xff, 0x55, -1, i % TEST_FRAMES, false);
	pick_expect(test, &p, 0xff, 0, 0, 1, false);
	pick_expect(test, &p, 0xe1, 0, -1, 5, false);
	pick_expect(test, &p, 0, 0, -1, -1, false);
	pick_expect(test, &p, 0x08, 0, 3, -1, false);
}

static void cold_test_nru(struct kunit *test)
{
	struct cold_picker p = { .policy = NRU };

	pick_expect(test, &p, 0xff, 0xfb, -1, 2, false);
	pick_expect(test, &p, 0xff, 0x0f, -1, 4, false);
	pick_expect(test, &p, 0xff, 0xf0, 0, 1, false);
	/* All were used: any but the one to be spared, and all age. */
	pick_expect(test, &p, 0xff, 0xff, 2, 3, true);
	/* An unused page that must stay is no choice. */
	pick_expect(test, &p, 0xff, 0xef, 4, 5, true);
	/* A free frame has no page to evict. */
	pick_expect(test, &p, 0xbf, 0xbf, -1, 7, true);
}

static void cold_test_random(struct kunit *test)
{
	struct cold_picker p = { .policy = RANDOM, .random = 1 };
	struct cold_picker again = p;
	unsigned long all = 0xff, none = 0, seen = 0;
	bool age;
	int i;

	for (i = 0; i < 200; i++) {
		int frame = cold_pick(&p, TEST_FRAMES, &all, &none, 3, &age);

		KUNIT_EXPECT_EQ(test, frame, cold_pick(&again, TEST_FRAMES, &all, &none, 3, &age));
		KUNIT_ASSERT_GE(test, frame, 0);
		KUNIT_ASSERT_LT(test, frame, TEST_FRAMES);
		__set_bit(frame, &seen);
	}
	/* Each but the one to be spared. */
	KUNIT_EXPECT_EQ(test, 0xf7UL, seen);
}

static void cold_test_account(struct kunit *test)
{
	struct cold_counters c = {};

	cold_account(&c, IN_TASK, true, false, 10);
	cold_account(&c, IRQS_OFF, true, false, 30);
	cold_account(&c, IN_TASK, false, true, 20);
	KUNIT_EXPECT_EQ(test, 2ULL, c.faults[IN_TASK]);
	KUNIT_EXPECT_EQ(test, 1ULL, c.faults[IRQS_OFF]);
	KUNIT_EXPECT_EQ(test, 1ULL, c.reads);
	KUNIT_EXPECT_EQ(test, 1ULL, c.data_faults);
	KUNIT_EXPECT_EQ(test, 60ULL, c.cycles);
	KUNIT_EXPECT_EQ(test, 30ULL, c.worst);
	KUNIT_EXPECT_EQ(test, (int)IRQS_OFF, (int)c.worst_context);
}

#ifdef CONFIG_SMP
static void cold_test_nmis(struct kunit *test)
{
	atomic_t due = ATOMIC_INIT(2);

	/* Two were sent while the first was handled: the second comes as well. */
	KUNIT_EXPECT_TRUE(test, cold_take_nmi(&due));
	KUNIT_EXPECT_TRUE(test, cold_take_nmi(&due));
	KUNIT_EXPECT_FALSE(test, cold_take_nmi(&due));
	/* Of many only one more can come. */
	atomic_set(&due, 5);
	KUNIT_EXPECT_TRUE(test, cold_take_nmi(&due));
	KUNIT_EXPECT_TRUE(test, cold_take_nmi(&due));
	KUNIT_EXPECT_FALSE(test, cold_take_nmi(&due));
}
#endif

static struct cold_patch *patch_new(struct kunit *test, u16 offset, const char *bytes)
{
	u8 size = strlen(bytes);
	struct cold_patch *patch = kunit_kzalloc(test, struct_size(patch, bytes, size), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, patch);
	patch->offset = offset;
	patch->size = size;
	memcpy(patch->bytes, bytes, size);
	return patch;
}

static void cold_test_patches(struct kunit *test)
{
	struct cold_patch *list = NULL, *dead;
	struct cold_patch *first = patch_new(test, 2, "ab");
	char data[9] = "........";

	KUNIT_EXPECT_NULL(test, cold_supersede(&list, first));
	KUNIT_EXPECT_NULL(test, cold_supersede(&list, patch_new(test, 3, "cd")));
	cold_apply(data, list);
	KUNIT_EXPECT_STREQ(test, "..acd...", data);

	/* One that covers an older one takes its place. */
	dead = cold_supersede(&list, patch_new(test, 1, "xyz"));
	KUNIT_EXPECT_PTR_EQ(test, first, dead);
	KUNIT_EXPECT_NULL(test, dead->next);
	memcpy(data, "........", 8);
	cold_apply(data, list);
	KUNIT_EXPECT_STREQ(test, ".xyzd...", data);

	/* One that covers them all is the only one. */
	dead = cold_supersede(&list, patch_new(test, 0, "12345678"));
	KUNIT_EXPECT_NOT_NULL(test, dead->next);
	KUNIT_EXPECT_NULL(test, list->next);
	cold_apply(data, list);
	KUNIT_EXPECT_STREQ(test, "12345678", data);
}

static DEFINE_STATIC_KEY_FALSE(cold_test_key);

/* The instruction whose operand is patched, and how far behind its start that is. */
extern char cold_test_instruction[];
#define TEST_OPERAND 1

/* Runs in no boot that a plan is made of, so that it is swapped out. */
static noinline u32 cold_test_patched(void)
{
	u32 value;

	asm volatile("cold_test_instruction: movl $0, %0" : "=a" (value));
	if (static_branch_unlikely(&cold_test_key))
		value = ~value;
	return value;
}

static void cold_test_poke(u32 value)
{
	mutex_lock(&text_mutex);
	text_poke(cold_test_instruction + TEST_OPERAND, &value, sizeof(value));
	mutex_unlock(&text_mutex);
}

static u64 cold_test_faults(void)
{
	u64 faults = 0;
	int i;

	for (i = 0; i < CONTEXTS; i++)
		faults += counters.faults[i];
	return faults;
}

/*
 * Whether anything can be swapped out by now. KUnit never runs a case again that
 * was skipped, so at boot those that need that pass, and say so.
 */
static bool cold_test_is_up(struct kunit *test)
{
	if (system_state >= SYSTEM_RUNNING)
		return true;
	kunit_info(test, "not tested yet: write to kunit/coldswap/run in debugfs\n");
	return false;
}

static void cold_test_text_poke(struct kunit *test)
{
	u64 patches = counters.patches, faults = cold_test_faults();
	u32 i;

	if (!cold_test_is_up(test))
		return;
	if (!active || !coldswap_contains((unsigned long)cold_test_patched))
		kunit_skip(test, "cold_test_patched() is not swapped out");
	for (i = 1; i <= TEST_PATCHES; i++) {
		/* Patched while it is out, then read with the patch, twice; */
		cold_evict_all();
		cold_test_poke(i);
		KUNIT_EXPECT_EQ(test, i, cold_test_patched());
		cold_evict_all();
		KUNIT_EXPECT_EQ(test, i, cold_test_patched());
		/* patched while it is in, and read again; */
		cold_test_poke(i << 16);
		KUNIT_EXPECT_EQ(test, i << 16, cold_test_patched());
		cold_evict_all();
		KUNIT_EXPECT_EQ(test, i << 16, cold_test_patched());
		/* and as a jump label does it, where there are any. */
		cold_evict_all();
		static_branch_enable(&cold_test_key);
		KUNIT_EXPECT_EQ(test, ~(i << 16), cold_test_patched());
		cold_evict_all();
		KUNIT_EXPECT_EQ(test, ~(i << 16), cold_test_patched());
		static_branch_disable(&cold_test_key);
		KUNIT_EXPECT_EQ(test, i << 16, cold_test_patched());
	}
	cold_test_poke(0);
	KUNIT_EXPECT_EQ(test, 0U, cold_test_patched());
	KUNIT_EXPECT_GE(test, cold_test_faults() - faults, 5ULL * TEST_PATCHES);
	if (IS_ENABLED(CONFIG_JUMP_LABEL))
		patches += 2 * TEST_PATCHES;
	KUNIT_EXPECT_GE(test, counters.patches - patches, 2ULL * TEST_PATCHES);
}

static void cold_test_data(struct kunit *test)
{
	u64 faults = counters.data_faults;
	pte_t pte;

	if (!cold_test_is_up(test))
		return;
	if (!active || cold_pages == text_pages)
		kunit_skip(test, "no data is swapped out");
	cold_evict_all();
	KUNIT_EXPECT_FALSE(test, pte_present(*cold_pte(text_pages)));
	READ_ONCE(*__coldswap_data_start);
	pte = *cold_pte(text_pages);
	KUNIT_EXPECT_GE(test, counters.data_faults - faults, 1ULL);
	KUNIT_EXPECT_TRUE(test, pte_present(pte));
	KUNIT_EXPECT_FALSE(test, pte_exec(pte));
	KUNIT_EXPECT_FALSE(test, pte_write(pte));
}

static void cold_test_right(struct kunit *test)
{
	u8 *data = kunit_kzalloc(test, PAGE_SIZE, GFP_KERNEL);
	struct cold_patch patch = {};
	struct cold_page page = {};

	KUNIT_ASSERT_NOT_NULL(test, data);
	page.sum = xxh64(data, PAGE_SIZE, 0);
	KUNIT_EXPECT_TRUE(test, cold_is_right(data, &page));
	data[PAGE_SIZE - 1] = 1;
	KUNIT_EXPECT_FALSE(test, cold_is_right(data, &page));
	page.patches = &patch;
	KUNIT_EXPECT_TRUE(test, cold_is_right(data, &page));
}

static struct kunit_case cold_test_cases[] = {
	KUNIT_CASE(cold_test_round_robin),
	KUNIT_CASE(cold_test_nru),
	KUNIT_CASE(cold_test_random),
	KUNIT_CASE(cold_test_account),
#ifdef CONFIG_SMP
	KUNIT_CASE(cold_test_nmis),
#endif
	KUNIT_CASE(cold_test_patches),
	KUNIT_CASE(cold_test_right),
	KUNIT_CASE(cold_test_text_poke),
	KUNIT_CASE(cold_test_data),
	{}
};

static struct kunit_suite cold_test_suite = {
	.name = "coldswap",
	.test_cases = cold_test_cases,
};

kunit_test_suite(cold_test_suite);
