// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files of the coarse locks in debugfs, in the folder giant: the mode, the
 * counters, what CPUs do in its order, who has and who wants a lock, and a way
 * to get stuck for tests.
 */
#include <linux/debugfs.h>
#include <linux/init.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kstrtox.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timex.h>
#include <linux/uaccess.h>
#include <asm/tsc.h>

#include "giant.h"

/* What a CPU does outside of the kernel. */
static const char *const outside[GIANT_KERNEL] = { "user", "idle", "interrupt" };

static int counters_show(struct seq_file *file, void *unused)
{
	struct giant_counters *all = file->private;
	unsigned int state, subsystem, taker;
	int cpu;

	for_each_online_cpu(cpu) {
		struct giant_counters *it = &all[cpu];

		for (state = 0; state < GIANT_KERNEL; state++)
			seq_printf(file, "cpu%d.%s %llu\n", cpu, outside[state],
				   it->spent[state]);
		for (subsystem = 0; subsystem < GIANT_SUBSYSTEMS; subsystem++)
			seq_printf(file, "cpu%d.kernel.%s %llu\n", cpu,
				   giant_taker_names[subsystem],
				   it->spent[GIANT_KERNEL + subsystem]);
		for (taker = 0; taker < GIANT_TAKERS; taker++) {
			const char *name = giant_taker_names[taker];

			seq_printf(file, "cpu%d.waiting.%s %llu\n", cpu, name,
				   it->spent[GIANT_WAITING + taker]);
			seq_printf(file, "cpu%d.taken.%s %llu\n", cpu, name,
				   it->taken[taker]);
			seq_printf(file, "cpu%d.contended.%s %llu\n", cpu, name,
				   it->contended[taker]);
		}
	}
	return 0;
}
/* They are those of when it is opened: to write them down takes far longer. */
static int counters_open(struct inode *inode, struct file *file)
{
	struct giant_counters *all = kvcalloc(nr_cpu_ids, sizeof(*all), GFP_KERNEL);
	int cpu, error;

	if (!all)
		return -ENOMEM;
	error = single_open(file, counters_show, all);
	if (error) {
		kvfree(all);
		return error;
	}
	for_each_online_cpu(cpu)
		giant_read(cpu, &all[cpu]);
	return 0;
}

static int counters_release(struct inode *inode, struct file *file)
{
	kvfree(((struct seq_file *)file->private_data)->private);
	return single_release(inode, file);
}

static const struct file_operations counters_fops = {
	.open = counters_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = counters_release,
};

/*
 * The place in the record is the number of the CPU in the upper half, and that
 * of the stretch in the lower one. As many are shown as there were when it was
 * opened, which took none of them away.
 */
#define RECORD_CPU(at)		((int)((at) >> 32))
#define RECORD_STRETCH(at)	((unsigned int)(at))

static void *record_at(struct seq_file *file, loff_t *at)
{
	unsigned int *counts = file->private;

	while (RECORD_CPU(*at) < nr_cpu_ids) {
		if (RECORD_STRETCH(*at) < counts[RECORD_CPU(*at)])
			return at;
		*at = (loff_t)(RECORD_CPU(*at) + 1) << 32;
	}
	return NULL;
}

static void *record_start(struct seq_file *file, loff_t *at)
{
	return record_at(file, at);
}

static void *record_next(struct seq_file *file, void *unused, loff_t *at)
{
	++*at;
	return record_at(file, at);
}

static void record_stop(struct seq_file *file, void *unused)
{
}

static int record_show(struct seq_file *file, void *at)
{
	int cpu = RECORD_CPU(*(loff_t *)at);
	struct giant_stretch it = giant_record_of(cpu)->done[RECORD_STRETCH(*(loff_t *)at)];

	seq_printf(file, "cpu%d ", cpu);
	if (it.state < GIANT_KERNEL)
		seq_puts(file, outside[it.state]);
	else if (it.state < GIANT_WAITING)
		seq_puts(file, giant_taker_names[it.state - GIANT_KERNEL]);
	else if (it.state < GIANT_STATES)
		seq_printf(file, "waiting.%s", giant_taker_names[it.state - GIANT_WAITING]);
	else
		seq_puts(file, it.state == GIANT_WAKE ? "wakes" : "wakes.interrupt");
	seq_printf(file, " %llu %d\n", it.cycles, it.pid);
	return 0;
}

static const struct seq_operations record_ops = {
	.start = record_start,
	.next = record_next,
	.stop = record_stop,
	.show = record_show,
};

static int record_open(struct inode *inode, struct file *file)
{
	unsigned int *counts;
	int cpu;

	/* Who only writes gets no file of this kind. */
	if (!(file->f_mode & FMODE_READ))
		return nonseekable_open(inode, file);
	counts = __seq_open_private(file, &record_ops, nr_cpu_ids * sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	for_each_online_cpu(cpu) {
		struct giant_record *record = giant_record_of(cpu);

		/* What is counted is written. */
		counts[cpu] = record ? smp_load_acquire(&record->count) : 0;
	}
	return 0;
}

static int record_release(struct inode *inode, struct file *file)
{
	return file->f_mode & FMODE_READ ? seq_release_private(inode, file) : 0;
}

static ssize_t record_write(struct file *file, const char __user *from,
			    size_t count, loff_t *position)
{
	unsigned int size;
	int error = kstrtouint_from_user(from, count, 0, &size);

	error = error ?: giant_record_start(size);
	return error ?: count;
}

static const struct file_operations record_fops = {
	.open = record_open,
	.read = seq_read,
	.write = record_write,
	.release = record_release,
};

static int holders_show(struct seq_file *file, void *unused)
{
	unsigned int number;

	for (number = 0; number < GIANT_LOCKS; number++) {
		struct giant_lock *lock = &giant_locks[number];
		int served = atomic_read(&lock->served);
		int tickets = atomic_read(&lock->next) - served;

		seq_printf(file, "%s holder %d waiting %d\n",
			   number == GIANT_ALL ? "giant" :
			   giant_taker_names[number],
			   READ_ONCE(lock->holder), tickets > 1 ? tickets - 1 : 0);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(holders);

static int mode_show(struct seq_file *file, void *unused)
{
	seq_printf(file, "%s\n", giant_mode_names[giant_mode_now()]);
	return 0;
}

static int mode_open(struct inode *inode, struct file *file)
{
	return single_open(file, mode_show, NULL);
}

static ssize_t mode_write(struct file *file, const char __user *from,
			  size_t count, loff_t *position)
{
	char name[16] = "";
	int mode;

	if (count >= sizeof(name))
		return -EINVAL;
	if (copy_from_user(name, from, count))
		return -EFAULT;
	mode = match_string(giant_mode_names, GIANT_MODES, strim(name));
	if (mode < 0)
		return -EINVAL;
	/* Who counts has to go on: tasks would keep what they have. */
	if (mode == GIANT_OFF && giant_mode_now() != GIANT_OFF)
		return -EBUSY;
	giant_mode_set(mode);
	return count;
}

static const struct file_operations mode_fops = {
	.open = mode_open,
	.read = seq_read,
	.write = mode_write,
	.llseek = seq_lseek,
	.release = single_release,
};

/* Keeps a CPU in a system call, with what that one has, for so many seconds. */
static int stuck_set(void *unused, u64 seconds)
{
	unsigned long until = jiffies + seconds * HZ;

	if (seconds > 60)
		return -EINVAL;
	while (time_before(jiffies, until))
		cpu_relax();
	return 0;
}
DEFINE_DEBUGFS_ATTRIBUTE(stuck_fops, NULL, stuck_set, "%llu\n");

static int __init giant_debugfs(void)
{
	struct dentry *folder = debugfs_create_dir("giant", NULL);

	debugfs_create_file("mode", 0644, folder, NULL, &mode_fops);
	debugfs_create_file("counters", 0444, folder, NULL, &counters_fops);
	debugfs_create_file("record", 0600, folder, NULL, &record_fops);
	debugfs_create_u32("khz", 0444, folder, &tsc_khz);
	debugfs_create_file("holders", 0444, folder, NULL, &holders_fops);
	debugfs_create_file_unsafe("stuck", 0200, folder, NULL, &stuck_fops);
	return 0;
}
late_initcall(giant_debugfs);
