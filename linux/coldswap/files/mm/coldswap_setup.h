/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is done once, before anything is swapped out: whether this machine can, the store,
 * the tables, and giving the memory of the image back.
 *
 * Part of coldswap.c, which includes it: what a fault needs must be one piece that no call
 * leaves.
 */

/* Functions that a fault calls: they must not be swapped. The linked file is checked more fully. */
static const struct {
	const char *name;
	const void *address;
} core[] = {
	{ "coldswap_fault", coldswap_fault },
	{ "LZ4_decompress_safe", LZ4_decompress_safe },
	{ "memcpy", memcpy },
	{ "memset", memset },
	{ "xxh64", xxh64 },
};

/* Why this machine or this image cannot swap; NULL: it can. */
static const char *cold_obstacle(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(core); i++) {
		if (coldswap_contains((unsigned long)core[i].address)) {
			pr_err("the plan names %s, which a fault needs\n", core[i].name);
			return "make a new plan for this kernel";
		}
	}
	if (expected_plan && strcmp(expected_plan, coldswap_plan_id))
		return "this image was linked with another plan than coldswap.plan= says";
	if (!IS_ALIGNED((unsigned long)__coldswap_start, PMD_SIZE) ||
	    !IS_ALIGNED((unsigned long)__coldswap_end, PAGE_SIZE))
		return "its text is not aligned";
	if (!IS_ALIGNED((unsigned long)__coldswap_data_start, PMD_SIZE) ||
	    !IS_ALIGNED((unsigned long)__coldswap_data_end, PAGE_SIZE))
		return "its data is not aligned";
	if (cold_frames < FRAMES_PER_CPU * num_online_cpus() || cold_frames > MAX_FRAMES)
		return "coldswap.frames= must be 4 for each CPU at least, and 1024 at most";
	if (cpu_feature_enabled(X86_FEATURE_PTI))
		return "page table isolation is on; boot with nopti";
	if (!boot_cpu_has(X86_FEATURE_PGE))
		return "the processor has no global pages, which INVLPG flushes everywhere";
	if (latency_us && !tsc_khz)
		return "coldswap.latency_us= needs a time stamp counter";
	return NULL;
}

/* Packs a page if that makes it smaller. Gives its size in the store. */
static unsigned int cold_pack(unsigned int page, void *to, void *work)
{
	const void *from = (const void *)cold_address(page);
	int size = LZ4_compress_default(from, to, PAGE_SIZE, PAGE_SIZE - 1, work);

	if (size > 0)
		return size;
	memcpy(to, from, PAGE_SIZE);
	return PAGE_SIZE;
}

static const char *cold_fill_memory(void)
{
	void *work = vmalloc(LZ4_MEM_COMPRESS);
	u8 *to = NULL;
	u32 at = 0;
	unsigned int i;

	if (!work)
		return "there is too little memory";
	for (i = 0; i < cold_pages; i++) {
		pages[i].at = at;
		pages[i].size = cold_pack(i, scratch, work);
		at += pages[i].size;
	}
	to = vmalloc(at);
	for (i = 0; to && i < cold_pages; i++) {
		cold_pack(i, scratch, work);
		memcpy(to + pages[i].at, scratch, pages[i].size);
	}
	vfree(work);
	store = to;
	store_size = at;
	return to ? NULL : "there is too little memory for the store";
}

static const char *cold_fill_flash(void)
{
	size_t size = (size_t)cold_pages << PAGE_SHIFT;
	unsigned int i;
	void *to;

	if (region_intersects(flash_at, size, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) !=
	    REGION_DISJOINT)
		return "what coldswap.store= names is in use; reserve it with memmap=";
	to = memremap(flash_at, size, MEMREMAP_WB);
	if (!to)
		return "the store that coldswap.store= names cannot be mapped";
	for (i = 0; i < cold_pages; i++) {
		pages[i].at = i << PAGE_SHIFT;
		pages[i].size = PAGE_SIZE;
	}
	for (i = 0; i < cold_pages; i++)
		memcpy(to + pages[i].at, (const void *)cold_address(i), PAGE_SIZE);
	store = to;
	store_size = size;
	return NULL;
}

static const char *cold_prepare(void)
{
	const char *obstacle;
	unsigned int i, level;

	pages = kvcalloc(cold_pages, sizeof(*pages), GFP_KERNEL);
	frames = kcalloc(cold_frames, sizeof(*frames), GFP_KERNEL);
	leaves = kcalloc(cold_leaves(), sizeof(*leaves), GFP_KERNEL);
	scratch = (void *)__get_free_page(GFP_KERNEL);
	if (!pages || !frames || !leaves || !scratch)
		return "there is too little memory for its tables";
	for (i = 0; i < cold_frames; i++) {
		frames[i].data = (void *)__get_free_page(GFP_KERNEL);
		frames[i].page = -1;
		if (!frames[i].data)
			return "there is too little memory for its frames";
		if (selftest)
			memset(frames[i].data, POISON_FRAME, PAGE_SIZE);
	}

	obstacle = on_flash ? cold_fill_flash() : cold_fill_memory();
	if (obstacle)
		return obstacle;
	for (i = 0; i < cold_pages; i++) {
		pages[i].sum = xxh64((const void *)cold_address(i), PAGE_SIZE, 0);
		pages[i].frame = -1;
	}

	for (i = 0; i < ARRAY_SIZE(linked); i++)
		if (set_memory_4k((unsigned long)linked[i].start, cold_range_pages(&linked[i])))
			return "the image cannot be mapped page by page";
	for (i = 0; i < cold_leaves(); i++) {
		unsigned int page = i * PTRS_PER_PTE;

		if (i >= cold_text_leaves())
			page = text_pages + (i - cold_text_leaves()) * PTRS_PER_PTE;
		leaves[i] = lookup_address(cold_address(page), &level);
		if (!leaves[i] || level != PG_LEVEL_4K)
			return "the image is not mapped page by page";
	}
	return NULL;
}

static void cold_forget(void)
{
	unsigned int i;

	for (i = 0; frames && i < cold_frames; i++)
		free_page((unsigned long)frames[i].data);
	if (on_flash && store)
		memunmap((void *)store);
	else
		vfree(store);
	free_page((unsigned long)scratch);
	kvfree(pages);
	kfree(frames);
	kfree(leaves);
}

static noinline __resident void cold_unmap_all(void)
{
	unsigned long flags;
	unsigned int i;

	local_irq_save(flags);
	active = true;
	for (i = 0; i < cold_pages; i++)
		native_set_pte(cold_pte(i), native_make_pte(0));
	local_irq_restore(flags);
}

/* No text is there. Mapped as text is, what gets this memory could run. */
static void cold_unmap_gap(void)
{
	unsigned long at = (unsigned long)__coldswap_gap;
	unsigned int level;

	for (; at < (unsigned long)__coldswap_start; at += PAGE_SIZE)
		native_set_pte(lookup_address(at, &level), native_make_pte(0));
}

/* Gives memory back that the image was linked to. Its mapping there is gone. */
static void cold_release(const struct cold_range *range)
{
	struct page *first = virt_to_page(lm_alias(range->start));
	unsigned long start = (unsigned long)lm_alias(range->start);
	unsigned int i, count = cold_range_pages(range);

	for (i = 0; i < count; i++)
		set_direct_map_default_noflush(first + i);
	flush_tlb_kernel_range(start, start + ((unsigned long)count << PAGE_SHIFT));
	for (i = 0; i < count; i++) {
		if (selftest)
			memset(page_address(first + i), POISON_FRAME, PAGE_SIZE);
		free_reserved_page(first + i);
	}
}
