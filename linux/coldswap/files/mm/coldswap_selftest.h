/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The self-test: everything is swapped out again and again, read at random on each CPU,
 * and audited.
 *
 * Part of coldswap.c, which includes it: what a fault needs must be one piece that no call
 * leaves.
 */

/*
 * With all other CPUs stopped: whether what is mapped is what the tables say and
 * the store has, and nothing has written to frames that are free.
 */
static noinline __resident int cold_audit(void *unused)
{
	unsigned long flags;
	unsigned int i, found = 0;

	local_irq_save(flags);
	cold_lock();
	for (i = 0; i < cold_pages; i++) {
		pte_t pte = *cold_pte(i);
		int frame = pages[i].frame;

		if (frame < 0) {
			if (pte_present(pte))
				counters.errors++;
			continue;
		}
		found++;
		if (!pte_present(pte) || frames[frame].page != i ||
		    pte_pfn(pte) != __pa(frames[frame].data) >> PAGE_SHIFT ||
		    !cold_read(i, scratch) ||
		    xxh64(scratch, PAGE_SIZE, 0) != xxh64(frames[frame].data, PAGE_SIZE, 0))
			counters.errors++;
	}
	if (found != counters.resident)
		counters.errors++;
	memset(scratch, POISON_FRAME, PAGE_SIZE);
	for (i = 0; i < cold_frames; i++)
		if (frames[i].page < 0 &&
		    xxh64(scratch, PAGE_SIZE, 0) != xxh64(frames[i].data, PAGE_SIZE, 0))
			counters.errors++;
	counters.audits++;
	cold_unlock();
	local_irq_restore(flags);
	return 0;
}

static noinline __resident void cold_count_touch(bool right)
{
	unsigned long flags;

	local_irq_save(flags);
	cold_lock();
	counters.touches++;
	if (!right)
		counters.errors++;
	cold_unlock();
	local_irq_restore(flags);
}

/**
 * cold_is_right() - whether a page reads as it did when the store was filled
 * @data: where it is read
 * @p: the page
 *
 * It may be swapped out and in while it is read.
 *
 * Return: that, and true for a page that has been patched.
 */
static bool cold_is_right(const void *data, const struct cold_page *p)
{
	bool same = xxh64(data, PAGE_SIZE, 0) == p->sum;

	/* A patch is in its list before it is in the frame. */
	smp_rmb();
	return same || READ_ONCE(p->patches);
}

/*
 * On each CPU: reads pages at random, half of them under a spinlock with interrupts
 * off. The other CPUs then spin for that lock, and can take no interrupt, while this
 * one evicts what they have mapped.
 */
static int cold_touch(void *cpu)
{
	static DEFINE_RAW_SPINLOCK(lock);
	struct rnd_state random;
	unsigned long flags;
	unsigned int i;

	prandom_seed_state(&random, (unsigned long)cpu + 1);
	while (!kthread_should_stop()) {
		usleep_range(selftest * 1000, selftest * 1000 + 100);
		for (i = 0; i < touch; i++) {
			unsigned int page = prandom_u32_state(&random) % cold_pages;
			const void *data = (const void *)cold_address(page);
			bool right;

			if (i % 2) {
				raw_spin_lock_irqsave(&lock, flags);
				right = cold_is_right(data, &pages[page]);
				raw_spin_unlock_irqrestore(&lock, flags);
			} else {
				right = cold_is_right(data, &pages[page]);
			}
			cold_count_touch(right);
			cond_resched();
		}
	}
	return 0;
}

static int cold_selftest(void *unused)
{
	unsigned int round;

	for (round = 1; !kthread_should_stop(); round++) {
		usleep_range(selftest * 1000, selftest * 1000 + 100);
		if (round % 8 == 0)
			stop_machine(cold_audit, NULL, NULL);
		cold_evict_all();
	}
	return 0;
}

static void cold_start_selftest(void)
{
	struct task_struct *task = kthread_run(cold_selftest, NULL, "coldswap");
	unsigned long cpu;

	for_each_online_cpu(cpu) {
		if (!touch || IS_ERR(task))
			break;
		task = kthread_run_on_cpu(cold_touch, (void *)cpu, cpu, "coldswap/%u");
	}
	if (IS_ERR(task))
		pr_err("the self-test cannot start\n");
}
