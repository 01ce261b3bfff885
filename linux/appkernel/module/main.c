// SPDX-License-Identifier: GPL-2.0-only
/*
 * An application kernel: CPUs that Linux does not know, running the user mode of its programs.
 *
 * "attach", written to /dev/appkernel, lets the thread that writes it, and all threads and processes that it
 * starts from then on, run on these CPUs; "attach local" also lets them answer some system calls.
 * debugfs has what happened: appkernel/status.
 */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/panic_notifier.h>
#include <linux/reboot.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <asm/apic.h>
#include <asm/cpufeature.h>
#include <asm/special_insns.h>
#include "appkernel.h"

static unsigned int cpus;
module_param(cpus, uint, 0444);
MODULE_PARM_DESC(cpus, "how many CPUs to start; all that Linux does not run where it is 0");

bool ak_poll;
module_param_named(poll, ak_poll, bool, 0644);
MODULE_PARM_DESC(poll, "CPU 0 polls for threads to come back instead of sleeping");

bool ak_halt = true;
module_param_named(halt, ak_halt, bool, 0644);
MODULE_PARM_DESC(halt, "CPU 0 halts in the context of the thread that it waits for, before it switches to another");

unsigned int ak_burst = 30000;
module_param_named(burst, ak_burst, uint, 0644);
MODULE_PARM_DESC(burst, "cycles: threads whose calls are closer than this on average stay on CPU 0; 0 for none");

unsigned int ak_calls_at_home = 256;
module_param_named(calls_at_home, ak_calls_at_home, uint, 0644);
MODULE_PARM_DESC(calls_at_home, "for how many calls they do");

unsigned int ak_slice_ms = 10;
module_param_named(slice_ms, ak_slice_ms, uint, 0644);
MODULE_PARM_DESC(slice_ms, "milliseconds that a thread has a CPU for while others wait");

unsigned int ak_around = 16;
module_param_named(around, ak_around, uint, 0644);
MODULE_PARM_DESC(around, "how many pages come at a fault where memory is written for the first time, a power of two; 1: one");

unsigned int ak_wait = 200000;
module_param_named(wait, ak_wait, uint, 0644);
MODULE_PARM_DESC(wait, "cycles: how long a CPU that answers system calls looks at a futex before its thread waits; 0: once");

bool ak_ignore_stale;
module_param_named(ignore_stale, ak_ignore_stale, bool, 0644);
MODULE_PARM_DESC(ignore_stale, "for tests: lets stale translations be used, which corrupts memory");

static ssize_t device_write(struct file *file, const char __user *buffer, size_t size, loff_t *offset)
{
	char word[16];
	bool local;
	int error;

	if (size >= sizeof(word))
		return -EINVAL;
	if (copy_from_user(word, buffer, size))
		return -EFAULT;
	word[size] = 0;
	local = !strcmp(strim(word), "attach local");
	if (!local && strcmp(strim(word), "attach"))
		return -EINVAL;
	error = ak_hooks_on();
	if (!error)
		error = ak_thread_attach(current, NULL, local, GFP_KERNEL);
	return error ? error : size;
}

static const struct file_operations device_operations = {
	.owner = THIS_MODULE,
	.write = device_write,
	.unlocked_ioctl = ak_proxy_ioctl,
};

static struct miscdevice device = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "appkernel",
	.fops = &device_operations,
	.mode = 0600,
};

static int status_show(struct seq_file *file, void *data)
{
	seq_printf(file, "threads %u\nleft %llu\nno-cpu %llu\ncall-bound %llu\nunsupported %llu\nflushes %llu\nreclaims %llu\nstrays %llu\nnmis %llu\n",
		   ak_thread_count(), ak_counts.left, ak_counts.no_cpu, ak_counts.call_bound,
		   ak_counts.unsupported, ak_counts.flushes, ak_counts.reclaims, ak_counts.strays,
		   ak_nmis);
	for (unsigned int i = 0; i < ak_cpu_count; i++) {
		struct ak_cpu *cpu = ak_cpus[i];

		seq_printf(file, "cpu %u apic %u state %d runs %llu calls %llu faults %llu kicks %llu others %llu answered %llu cleared %llu cycles %llu\n",
			   cpu->index, cpu->apic_id, cpu->state, cpu->runs, cpu->calls, cpu->faults,
			   cpu->kicks, cpu->others, cpu->answered, cpu->cleared, cpu->user_cycles);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(status);

static struct dentry *folder;

static int on_reboot(struct notifier_block *block, unsigned long action, void *data)
{
	ak_halt_cpus();
	return NOTIFY_DONE;
}

static struct notifier_block reboot_block = { .notifier_call = on_reboot };
static struct notifier_block panic_block = { .notifier_call = on_reboot };

/* What a CPU of ours cannot have; each line says what to do. */
static int check_machine(void)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT)) {
		pr_err("locks of this kernel sleep (PREEMPT_RT): boot one without\n");
		return -EOPNOTSUPP;
	}
	if (IS_ENABLED(CONFIG_PREEMPTION) && !IS_ENABLED(CONFIG_TASKS_RCU)) {
		pr_err("rmmod cannot know who is preempted here: the kernel needs CONFIG_TASKS_RCU, as FUNCTION_TRACER has it\n");
		return -EOPNOTSUPP;
	}
	if (cpu_feature_enabled(X86_FEATURE_PTI)) {
		pr_err("page tables are isolated: boot with nopti\n");
		return -EOPNOTSUPP;
	}
	if (pgtable_l5_enabled()) {
		pr_err("page tables have five levels: boot with no5lvl\n");
		return -EOPNOTSUPP;
	}
	if (cpu_feature_enabled(X86_FEATURE_CALL_DEPTH)) {
		pr_err("calls are counted in per-CPU data: boot without retbleed=stuff\n");
		return -EOPNOTSUPP;
	}
	if (__read_cr4() & X86_CR4_VMXE) {
		pr_err("KVM has the interrupt by which threads come back: rmmod kvm_intel\n");
		return -EBUSY;
	}
	if (!boot_cpu_has(X86_FEATURE_APIC)) {
		pr_err("CPU 0 has no local APIC, by which others are started\n");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int __init appkernel_init(void)
{
	int error = check_machine();

	if (error)
		return error;
	error = ak_hooks_init();
	if (error)
		return error;
	error = ak_reclaim_init();
	if (error)
		goto hooks;
	error = ak_take_cpus(cpus);
	if (error)
		goto reclaim;
	ak_queue_init();
	error = misc_register(&device);
	if (error)
		goto stop;
	folder = debugfs_create_dir("appkernel", NULL);
	debugfs_create_file("status", 0444, folder, NULL, &status_fops);
	ak_clear_init();
	register_reboot_notifier(&reboot_block);
	atomic_notifier_chain_register(&panic_notifier_list, &panic_block);
	pr_info("%u CPUs run beside Linux\n", ak_cpu_count);
	return 0;
stop:
	ak_queue_exit();
	ak_give_cpus_back();
reclaim:
	ak_reclaim_exit();
hooks:
	ak_hooks_exit();
	return error;
}
module_init(appkernel_init);

static void __exit appkernel_exit(void)
{
	atomic_notifier_chain_unregister(&panic_notifier_list, &panic_block);
	unregister_reboot_notifier(&reboot_block);
	ak_clear_exit();
	debugfs_remove(folder);
	misc_deregister(&device);
	ak_queue_exit();
	ak_reclaim_exit();
	ak_hooks_exit();
	ak_give_cpus_back();
}
module_exit(appkernel_exit);

MODULE_DESCRIPTION("Runs the user mode of programs on CPUs that Linux does not know");
MODULE_LICENSE("GPL");
