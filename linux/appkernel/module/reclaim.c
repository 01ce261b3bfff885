// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page ageing. A kernel without SMP clears the accessed bit of a page by reading the entry and writing it back:
 * a dirty bit that another CPU sets in between is lost, and with it what was written. Pages age while memory is
 * reclaimed, so no thread is elsewhere as long as that goes on.
 */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/mmzone.h>
#include <linux/spinlock.h>
#include <linux/tracepoint.h>
#include "appkernel.h"

bool ak_reclaiming;

/* Nodes whose own thread reclaims, a bit each, and how many others do. */
static unsigned long nodes;
static unsigned int others;
/* Guards these, and that ak_reclaiming says whether there is any. */
static DEFINE_SPINLOCK(lock);

static void count_strays(void)
{
	for (unsigned int i = 0; i < ak_cpu_count; i++)
		ak_counts.strays += READ_ONCE(ak_reclaiming) && ak_runs(ak_cpus[i]);
}

static void begins(unsigned long node)
{
	unsigned long flags;

	spin_lock_irqsave(&lock, flags);
	nodes |= node;
	others += !node;
	WRITE_ONCE(ak_reclaiming, true);
	spin_unlock_irqrestore(&lock, flags);
	ak_counts.reclaims++;
	/* Whoever leaves sets its state first, and looks then. */
	mb();
	ak_pull(NULL);
	count_strays();
}

static void ends(unsigned long node)
{
	unsigned long flags;

	count_strays();
	spin_lock_irqsave(&lock, flags);
	nodes &= ~node;
	/* One may have begun before the module was loaded. */
	if (!node && others)
		others--;
	WRITE_ONCE(ak_reclaiming, nodes || others);
	spin_unlock_irqrestore(&lock, flags);
}

static unsigned long bit_of(int node)
{
	return 1UL << (node % BITS_PER_LONG);
}

static void on_wake(void *data, int node, int zone, int order)
{
	begins(bit_of(node));
}

static void on_sleep(void *data, int node)
{
	ends(bit_of(node));
}

static void on_begin(void *data, int order, gfp_t flags)
{
	begins(0);
}

static void on_node_begin(void *data, int node, int order, gfp_t flags)
{
	begins(0);
}

static void on_end(void *data, unsigned long reclaimed)
{
	ends(0);
}

/* The first four are in every kernel; those of memory cgroups and of nodes only where these are. */
#define AK_RECLAIM_NEEDED 4
static struct ak_hook hooks[] = {
	{ "mm_vmscan_kswapd_wake", on_wake },
	{ "mm_vmscan_kswapd_sleep", on_sleep },
	{ "mm_vmscan_direct_reclaim_begin", on_begin },
	{ "mm_vmscan_direct_reclaim_end", on_end },
	{ "mm_vmscan_memcg_reclaim_begin", on_begin },
	{ "mm_vmscan_memcg_reclaim_end", on_end },
	{ "mm_vmscan_memcg_softlimit_reclaim_begin", on_begin },
	{ "mm_vmscan_memcg_softlimit_reclaim_end", on_end },
	{ "mm_vmscan_node_reclaim_begin", on_node_begin },
	{ "mm_vmscan_node_reclaim_end", on_end },
};

static void unhook(unsigned int count)
{
	while (count--)
		if (hooks[count].point)
			tracepoint_probe_unregister(hooks[count].point, hooks[count].function, NULL);
	tracepoint_synchronize_unregister();
}

/**
 * ak_reclaim_init - is told of reclaim from now on
 *
 * Return: 0 or an error.
 */
int ak_reclaim_init(void)
{
	ak_find_hooks(hooks, ARRAY_SIZE(hooks));
	for (unsigned int i = 0; i < ARRAY_SIZE(hooks); i++) {
		int error = 0;

		if (hooks[i].point)
			error = tracepoint_probe_register(hooks[i].point, hooks[i].function, NULL);
		else if (i < AK_RECLAIM_NEEDED)
			error = -EOPNOTSUPP;
		if (error == -EOPNOTSUPP)
			pr_err("this kernel does not say when it reclaims memory: it has no tracepoint %s\n",
			       hooks[i].name);
		if (error) {
			unhook(i);
			return error;
		}
	}
	return 0;
}

/* Is told of reclaim no longer. */
void ak_reclaim_exit(void)
{
	unhook(ARRAY_SIZE(hooks));
}
