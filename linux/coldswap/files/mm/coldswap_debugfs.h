/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What debugfs shows and takes.
 *
 * Part of coldswap.c, which includes it: what a fault needs must be one piece that no call
 * leaves.
 */

static u64 cold_ns(u64 cycles)
{
	return tsc_khz ? mul_u64_u64_div_u64(cycles, USEC_PER_SEC, tsc_khz) : 0;
}

static int cold_stats_show(struct seq_file *m, void *unused)
{
	struct cold_counters c;
	u64 faults = 0;
	int i;

	/* A copy that may be a few faults off: taking the lock here could fault. */
	c = counters;
	seq_printf(m, "active %d\nplan %s\n", active, coldswap_plan_id);
	seq_printf(m, "policy %s\nstore %s\n", policy_names[picker.policy],
		   on_flash ? "flash" : "lz4");
	seq_printf(m, "latency_us %u\n", latency_us);
	seq_printf(m, "pages %u\ndata_pages %u\nframes %u\n", cold_pages,
		   cold_pages - text_pages, cold_frames);
	seq_printf(m, "store_bytes %zu\n", store_size);
	seq_printf(m, "table_bytes %zu\n", cold_pages * sizeof(*pages) +
		   cold_frames * sizeof(*frames) +
		   cold_leaves() * sizeof(*leaves));
	seq_printf(m, "gap_pages %lu\n",
		   (unsigned long)(__coldswap_start - __coldswap_gap) >> PAGE_SHIFT);
	for (i = 0; i < CONTEXTS; i++) {
		seq_printf(m, "faults_%s %llu\n", context_names[i], c.faults[i]);
		faults += c.faults[i];
	}
	seq_printf(m, "faults %llu\nreads %llu\nraced %llu\n", faults, c.reads, c.raced);
	seq_printf(m, "evictions %llu\nshootdowns %llu\n", c.evictions, c.shootdowns);
	seq_printf(m, "data_faults %llu\ndata_evictions %llu\n", c.data_faults,
		   c.data_evictions);
	seq_printf(m, "resident %u\nresident_peak %u\n", c.resident, c.resident_peak);
	seq_printf(m, "patches %llu\n", c.patches);
	seq_printf(m, "total_ns %llu\nworst_ns %llu\nworst_context %s\n", cold_ns(c.cycles),
		   cold_ns(c.worst), context_names[c.worst_context]);
	seq_printf(m, "touches %llu\naudits %llu\nerrors %llu\n", c.touches, c.audits, c.errors);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cold_stats);

static ssize_t cold_evict_write(struct file *file, const char __user *from, size_t size,
				loff_t *at)
{
	if (active)
		cold_evict_all();
	return size;
}

static const struct file_operations cold_evict_fops = {
	.owner = THIS_MODULE,
	.write = cold_evict_write,
};

static int __init cold_debugfs(void)
{
	struct dentry *folder = debugfs_create_dir("coldswap", NULL);

	debugfs_create_file("stats", 0444, folder, NULL, &cold_stats_fops);
	debugfs_create_file("evict", 0200, folder, NULL, &cold_evict_fops);
	return 0;
}
late_initcall(cold_debugfs);
