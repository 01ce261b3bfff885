// SPDX-License-Identifier: GPL-2.0-only
/*
 * Takes CPUs, and gives them back. Linux with SMP knows CPUs that it does not run, and could bring one online that
 * is ours: that is refused.
 */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/cpu.h>
#include <linux/cpuhotplug.h>
#include "appkernel.h"

#ifdef CONFIG_SMP
static int state;

/* Before Linux starts a CPU, with the lock of CPUs. */
static int on_prepare(unsigned int cpu)
{
	for (unsigned int i = 0; i < ak_cpu_count; i++) {
		if (ak_cpus[i]->apic_id != cpu_physical_id(cpu))
			continue;
		pr_err("CPU %u runs programs beside Linux, so it cannot come online: rmmod appkernel first\n", cpu);
		/* With -EBUSY, Linux would try again and again. */
		return -EPERM;
	}
	return 0;
}

static int keep_offline(void)
{
	int error = cpuhp_setup_state_nocalls_cpuslocked(CPUHP_BP_PREPARE_DYN, "appkernel:prepare", on_prepare, NULL);

	if (error < 0)
		return error;
	state = error;
	return 0;
}

static void let_online(void)
{
	cpuhp_remove_state_nocalls_cpuslocked(state);
}
#else
static int keep_offline(void)
{
	return 0;
}

static void let_online(void) {}
#endif

/**
 * ak_take_cpus - starts CPUs that Linux does not run, and keeps it from running them
 * @wanted: how many at most; 0 for all
 *
 * Return: 0, or an error if not even one runs.
 */
int ak_take_cpus(unsigned int wanted)
{
	int error;

	cpus_read_lock();
	error = ak_start_cpus(wanted);
	if (!error) {
		error = keep_offline();
		if (error)
			ak_stop_cpus();
	}
	cpus_read_unlock();
	return error;
}

/* Linux may run them again. No thread may be on them. */
void ak_give_cpus_back(void)
{
	cpus_read_lock();
	ak_stop_cpus();
	let_online();
	cpus_read_unlock();
}
