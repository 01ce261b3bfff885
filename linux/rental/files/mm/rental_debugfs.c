// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files of rental memory in debugfs, in the folder rental: counters, the
 * regions, which pages are stored, whether rented memory counts for the limits
 * of dirty pages, and a way to drop all copies.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "rental.h"

/* Slots of a region that have a copy which can be used. */
static unsigned long count_full(struct rental_region *region)
{
	unsigned long i, full = 0;

	for (i = 0; i < region->nr_slots; i++) {
		struct rental_slot *slot = &region->slots[i];

		full += slot->state == RENTAL_FULL && rental_is_open(region, slot);
		if (i % RENTAL_CHUNK_SLOTS == 0)
			cond_resched();
	}
	return full;
}

static int counters_show(struct seq_file *file, void *unused)
{
	unsigned long full = 0, rented = 0;
	struct rental_returns returns;
	unsigned int i;

	for (i = 0; i < RENTAL_COUNTERS; i++)
		seq_printf(file, "%s %ld\n", rental_counter_names[i],
			   atomic_long_read(&rental_counters[i]));
	mutex_lock(&rental_mutex);
	for (i = 0; i < RENTAL_REGIONS; i++) {
		if (!rental_regions[i])
			continue;
		full += count_full(rental_regions[i]);
		rented += rental_regions[i]->nr_rented;
	}
	seq_printf(file, "pages_rented %lu\npages_full %lu\n", rented, full);
	spin_lock_irq(&rental_lock);
	returns = rental_returns;
	spin_unlock_irq(&rental_lock);
	seq_printf(file, "return_ns_last %llu\nreturn_ns_max %llu\n",
		   returns.last_ns, returns.max_ns);
	seq_printf(file, "return_ns_sum %llu\nscrub_cpu_ns_sum %llu\n",
		   returns.sum_ns, returns.scrub_cpu_ns);
	seq_printf(file, "active_cpu_ns_sum %llu\nactive_ns_max %llu\n",
		   returns.active_cpu_ns, returns.active_max_ns);
	mutex_unlock(&rental_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int regions_show(struct seq_file *file, void *unused)
{
	unsigned int i;

	mutex_lock(&rental_mutex);
	for (i = 0; i < RENTAL_REGIONS; i++) {
		struct rental_region *region = rental_regions[i];

		if (!region)
			continue;
		seq_printf(file, "%s pages %lu holes %lu rented %lu full %lu bytes_for_slots %zu\n",
			   region->name, region->nr_slots, region->nr_holes,
			   region->nr_rented, count_full(region),
			   region->nr_slots * sizeof(*region->slots));
	}
	mutex_unlock(&rental_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(regions);

static int policy_show(struct seq_file *file, void *unused)
{
	seq_printf(file, "%s\n", rental_policy_names[READ_ONCE(rental_policy)]);
	return 0;
}

static int policy_open(struct inode *inode, struct file *file)
{
	return single_open(file, policy_show, NULL);
}

static ssize_t policy_write(struct file *file, const char __user *from,
			    size_t size, loff_t *position)
{
	char name[16] = "";
	int policy;

	if (size >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, from, size))
		return -EFAULT;
	policy = sysfs_match_string(rental_policy_names, name);
	if (policy < 0)
		return policy;
	WRITE_ONCE(rental_policy, policy);
	return size;
}

static const struct file_operations policy_fops = {
	.open = policy_open,
	.read = seq_read,
	.write = policy_write,
	.llseek = seq_lseek,
	.release = single_release,
};

static int drop_set(void *unused, u64 value)
{
	if (value != 1)
		return -EINVAL;
	rental_drop_all();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(drop_fops, NULL, drop_set, "%llu\n");

static int __init rental_debugfs_init(void)
{
	struct dentry *folder = debugfs_create_dir("rental", NULL);

	debugfs_create_file("counters", 0400, folder, NULL, &counters_fops);
	debugfs_create_file("regions", 0400, folder, NULL, &regions_fops);
	debugfs_create_file("policy", 0600, folder, NULL, &policy_fops);
	debugfs_create_bool("dirtyable", 0600, folder, &rental_dirtyable);
	debugfs_create_file("drop", 0200, folder, NULL, &drop_fops);
	return 0;
}
late_initcall(rental_debugfs_init);
