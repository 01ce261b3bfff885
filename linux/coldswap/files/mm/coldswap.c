// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cold code swapping: kernel text that hardly ever runs, and read-only data that is
 * hardly ever read, are kept in a store, and brought into one of a few frames when
 * they are called for.
 *
 * The linker script puts such text between __coldswap_start and __coldswap_end, and
 * such data between __coldswap_data_start and __coldswap_data_end. Once the kernel
 * is up, each of their pages is copied to the store, unmapped, and its memory freed.
 * What then runs or reads there faults; the handler reads the page into a frame, maps
 * the frame in its place and lets the instruction run again. When no frame is free it
 * evicts another page first.
 *
 * The handler runs wherever text can run: with interrupts off, under any lock.
 * So it never sleeps, takes no lock but its own, and calls nothing that could be
 * swapped itself. A frame gets other contents only when no CPU can have its old
 * mapping in its TLB any more. On one CPU that is one INVLPG. On several, the
 * handler interrupts the others with an NMI, because one of them may be spinning
 * with interrupts off for a lock that the code which faulted holds. A CPU that
 * waits for the handler itself flushes while it waits, so nobody waits forever,
 * and there are never more frames than were given.
 */
#define pr_fmt(fmt) "coldswap: " fmt

#include <linux/bitmap.h>
#include <linux/coldswap.h>
#include <linux/cpu.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/init.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/kthread.h>
#include <linux/lz4.h>
#include <linux/memory.h>
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/panic.h>
#include <linux/percpu.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/set_memory.h>
#include <linux/slab.h>
#include <linux/stop_machine.h>
#include <linux/vmalloc.h>
#include <linux/xxhash.h>
#include <asm/apic.h>
#include <asm/text-patching.h>
#include <asm/tlbflush.h>
#include <asm/trap_pf.h>
#include <asm/tsc.h>

#include <generated/coldswap-plan.h>

/*
 * What a fault needs, and what holds the lock: never swapped. What others call is
 * noinline as well, or it would be swapped with them.
 */
#define __resident	__section(".coldswap.text")

#define MAX_FRAMES	1024
/* Pages that one shootdown evicts at most, where there are several CPUs. */
#define MAX_BATCH	8
/*
 * An instruction that straddles two pages can read operands that straddle two
 * others: with fewer frames it might never complete.
 */
#define FRAMES_PER_CPU	4
#define NO_CPU		(-1)
#define POISON_FRAME	0xcc		/* INT3 */

enum cold_policy { ROUND_ROBIN, RANDOM, NRU };

static const char *const policy_names[] = { "rr", "random", "nru" };

enum cold_context { IN_TASK, IN_SOFTIRQ, IN_HARDIRQ, IRQS_OFF, IN_NMI, CONTEXTS };

static const char *const context_names[] = {
	"task", "softirq", "hardirq", "irqs_off", "nmi",
};

/* Bytes that were patched after the store was filled; later ones win. */
struct cold_patch {
	struct cold_patch *next;
	u16 offset;
	u8 size;
	u8 bytes[];
};

struct cold_page {
	u64 sum;			/* of what is in the store */
	struct cold_patch *patches;
	u32 at;				/* in the store, in bytes */
	u16 size;			/* there; PAGE_SIZE: as it is */
	s16 frame;			/* -1: none */
};

struct cold_frame {
	void *data;			/* in the direct map */
	int page;			/* -1: free */
};

/* What chooses the page to evict: no more than this, so that it can be tested. */
struct cold_picker {
	enum cold_policy policy;
	unsigned int hand;
	u32 random;
};

struct cold_counters {
	u64 faults[CONTEXTS];
	u64 reads;			/* of them, no fetches of instructions */
	u64 data_faults, data_evictions;	/* of pages of read-only data */
	u64 raced;			/* another CPU had brought the page */
	u64 evictions;
	u64 shootdowns;
	u64 cycles, worst;		/* from fault to resume */
	enum cold_context worst_context;
	unsigned int resident, resident_peak;
	u64 patches;
	u64 touches, audits, errors;
};

static bool wanted = true;
static unsigned int cold_frames = 16;
static unsigned int latency_us;
static unsigned int selftest;
static unsigned int touch;
static enum cold_policy policy = NRU;
static bool on_flash;
static phys_addr_t flash_at;
static char *expected_plan;

static const char coldswap_plan_id[] = COLDSWAP_PLAN_ID;

/* The CPU that holds it, so that one which interrupts itself can tell. */
static atomic_t owner = ATOMIC_INIT(NO_CPU);
static bool active __read_mostly;
static unsigned int cold_pages;		/* those of text come first */
static unsigned int text_pages;
static struct cold_page *pages;
static struct cold_frame *frames;
static pte_t **leaves;			/* a page of page tables each */
static const u8 *store;
static size_t store_size;
static void *scratch;			/* for the audit */
static u64 latency_cycles;
static struct cold_picker picker;
static struct cold_counters counters;
static DECLARE_BITMAP(occupied, MAX_FRAMES);
static DECLARE_BITMAP(young, MAX_FRAMES);

static unsigned long batch[MAX_BATCH];
static unsigned int batch_size;
static unsigned int epoch;
static DEFINE_PER_CPU(unsigned int, flushed_epoch);

static __always_inline bool cold_is_data(unsigned int page)
{
	return page >= text_pages;
}

static __always_inline unsigned long cold_address(unsigned int page)
{
	if (cold_is_data(page))
		return (unsigned long)__coldswap_data_start +
		       ((unsigned long)(page - text_pages) << PAGE_SHIFT);
	return (unsigned long)__coldswap_start + ((unsigned long)page << PAGE_SHIFT);
}

/* Of an address that can be swapped. */
static __always_inline unsigned int cold_page_at(unsigned long address)
{
	if (coldswap_is_text(address))
		return (address - (unsigned long)__coldswap_start) >> PAGE_SHIFT;
	return text_pages + ((address - (unsigned long)__coldswap_data_start) >> PAGE_SHIFT);
}

/* How many page tables the text has; those of data follow. */
static __always_inline unsigned int cold_text_leaves(void)
{
	return DIV_ROUND_UP(text_pages, PTRS_PER_PTE);
}

static __always_inline pte_t *cold_pte(unsigned int page)
{
	pte_t **first = leaves;

	if (cold_is_data(page)) {
		first += cold_text_leaves();
		page -= text_pages;
	}
	return first[page / PTRS_PER_PTE] + page % PTRS_PER_PTE;
}

#include "coldswap_policy.h"

#include "coldswap_shootdown.h"

/**
 * coldswap_nmi() - take part in a shootdown
 *
 * Runs before other NMI handlers, which may be swapped: one that interrupted the
 * handler of a fault could not be brought back. That holds on one CPU as well.
 *
 * Return: whether nothing else is to be done.
 */
__resident bool coldswap_nmi(void)
{
	return cold_asked() || atomic_read(&owner) == raw_smp_processor_id();
}

/* Unmaps up to @wanted_pages pages, and frees their frames. Under the lock. */
static __resident unsigned int cold_evict(unsigned int wanted_pages, int spared)
{
	int gone[MAX_BATCH];
	unsigned int i;
	bool age;

	if (picker.policy == NRU) {
		for (i = 0; i < cold_frames; i++) {
			bool used = frames[i].page >= 0 &&
				    pte_young(*cold_pte(frames[i].page));

			if (used)
				__set_bit(i, young);
			else
				__clear_bit(i, young);
		}
	}
	for (batch_size = 0; batch_size < wanted_pages; batch_size++) {
		int frame = cold_pick(&picker, cold_frames, occupied, young, spared, &age);
		int page;

		if (frame < 0)
			break;
		if (age) {
			/*
			 * The TLB may keep such a page as used: that costs a
			 * wrong choice, and a flush would cost more.
			 */
			for (i = 0; i < cold_frames; i++) {
				__clear_bit(i, young);
				if (frames[i].page >= 0)
					clear_bit(_PAGE_BIT_ACCESSED,
						  (unsigned long *)cold_pte(frames[i].page));
			}
		}
		page = frames[frame].page;
		native_set_pte(cold_pte(page), native_make_pte(0));
		pages[page].frame = -1;
		if (cold_is_data(page))
			counters.data_evictions++;
		gone[batch_size] = frame;
		batch[batch_size] = cold_address(page);
		__clear_bit(frame, occupied);
	}
	if (!batch_size)
		return 0;
	cold_flush_batch();
	cold_flush_others();
	for (i = 0; i < batch_size; i++) {
		frames[gone[i]].page = -1;
		if (selftest)
			memset(frames[gone[i]].data, POISON_FRAME, PAGE_SIZE);
	}
	counters.evictions += batch_size;
	counters.resident -= batch_size;
	return batch_size;
}

/* Reads a page as it has to run. */
static __resident bool cold_read(unsigned int page, void *to)
{
	const struct cold_page *p = &pages[page];

	if (latency_cycles) {
		u64 start = rdtsc_ordered();

		while (rdtsc_ordered() - start < latency_cycles)
			cpu_relax();
	}
	if (p->size == PAGE_SIZE)
		memcpy(to, store + p->at, PAGE_SIZE);
	else if (LZ4_decompress_safe(store + p->at, to, p->size, PAGE_SIZE) != PAGE_SIZE)
		return false;
	if (xxh64(to, PAGE_SIZE, 0) != p->sum)
		return false;
	cold_apply(to, p->patches);
	return true;
}

static __resident int cold_free_frame(void)
{
	unsigned int i;

	for (i = 0; i < cold_frames; i++)
		if (frames[i].page < 0)
			return i;
	return -1;
}

/**
 * coldswap_fault() - bring the page that a fault misses
 * @regs: what ran
 * @error_code: of the fault
 * @address: of the fault
 *
 * Runs with interrupts off, in any context.
 *
 * Return: whether the fault is dealt with.
 */
__resident bool coldswap_fault(struct pt_regs *regs, unsigned long error_code,
			       unsigned long address)
{
	unsigned int page;
	int frame, spared = -1;
	u64 start;

	if (!active || !coldswap_contains(address))
		return false;
	if (error_code & (X86_PF_PROT | X86_PF_USER | X86_PF_WRITE | X86_PF_RSVD))
		return false;

	start = rdtsc_ordered();
	page = cold_page_at(address);
	cold_check_path(regs, address);
	cold_lock();
	if (pages[page].frame >= 0) {
		counters.raced++;
		goto out;
	}
	frame = cold_free_frame();
	if (frame < 0) {
		unsigned int some = 1;

		if (num_online_cpus() > 1)
			some = clamp(cold_frames / 8, 1U, (unsigned int)MAX_BATCH);
		/* An instruction that straddles two pages needs both. */
		if (coldswap_is_text(regs->ip))
			spared = pages[cold_page_at(regs->ip)].frame;
		cold_evict(some, spared);
		frame = cold_free_frame();
	}
	if (frame < 0 || !cold_read(page, frames[frame].data)) {
		cold_unlock();
		pr_emerg("page %u of the store does not match its checksum\n", page);
		panic("coldswap: the memory or the flash that holds the store is damaged");
	}
	frames[frame].page = page;
	pages[page].frame = frame;
	__set_bit(frame, occupied);
	native_set_pte(cold_pte(page),
		       pfn_pte(__pa(frames[frame].data) >> PAGE_SHIFT,
			       cold_is_data(page) ? PAGE_KERNEL_RO : PAGE_KERNEL_ROX));
	counters.resident++;
	if (counters.resident > counters.resident_peak)
		counters.resident_peak = counters.resident;
out:
	cold_account(&counters, cold_context(regs), error_code & X86_PF_INSTR,
		     cold_is_data(page), rdtsc_ordered() - start);
	cold_unlock();
	return true;
}

static noinline __resident struct cold_patch *
cold_patch_page(unsigned int page, struct cold_patch *patch)
{
	struct cold_patch *dead;
	unsigned long flags;

	local_irq_save(flags);
	cold_lock();
	dead = cold_supersede(&pages[page].patches, patch);
	if (pages[page].frame >= 0)
		memcpy(frames[pages[page].frame].data + patch->offset, patch->bytes,
		       patch->size);
	counters.patches++;
	cold_unlock();
	local_irq_restore(flags);
	return dead;
}

/**
 * coldswap_poke() - patch text that can be swapped
 * @address: where
 * @bytes: what
 * @size: how much
 *
 * The store stays as it is, flash cannot be changed: what was patched is kept
 * beside it and applied each time the page is read. Under text_mutex, which is a
 * mutex, so this may sleep.
 *
 * Return: whether it is dealt with; false for other text.
 */
bool coldswap_poke(void *address, const void *bytes, size_t size)
{
	unsigned long at = (unsigned long)address;

	lockdep_assert_held(&text_mutex);
	if (!active || !coldswap_is_text(at))
		return false;
	while (size) {
		size_t part = min3(size, PAGE_SIZE - offset_in_page(at), (size_t)U8_MAX);
		struct cold_patch *patch, *dead;

		patch = kmalloc(struct_size(patch, bytes, part), GFP_KERNEL | __GFP_NOFAIL);
		patch->offset = offset_in_page(at);
		patch->size = part;
		memcpy(patch->bytes, bytes, part);
		dead = cold_patch_page(cold_page_at(at), patch);
		while ((patch = dead)) {
			dead = patch->next;
			kfree(patch);
		}
		at += part;
		bytes += part;
		size -= part;
	}
	return true;
}

/* Linked memory that is given back: text, what is only there for its alignment, and data. */
static const struct cold_range {
	char *start, *end;
} linked[] = {
	{ __coldswap_gap, __coldswap_end },
	{ __coldswap_data_start, __coldswap_data_end },
};

static unsigned int cold_range_pages(const struct cold_range *range)
{
	return (range->end - range->start) >> PAGE_SHIFT;
}

/**
 * coldswap_released() - whether memory that the image was linked to now is anybody's
 * @pfn: its page frame number
 *
 * Then it has no alias in the kernel's mapping of its own image: another page is
 * mapped there.
 */
bool coldswap_released(unsigned long pfn)
{
	unsigned int i;

	for (i = 0; active && i < ARRAY_SIZE(linked); i++)
		if (pfn - (__pa_symbol(linked[i].start) >> PAGE_SHIFT) <
		    cold_range_pages(&linked[i]))
			return true;
	return false;
}

static noinline __resident void cold_evict_all(void)
{
	unsigned long flags;

	local_irq_save(flags);
	cold_lock();
	while (cold_evict(MAX_BATCH, -1))
		;
	cold_unlock();
	local_irq_restore(flags);
}

#include "coldswap_selftest.h"

static unsigned int cold_leaves(void)
{
	return cold_text_leaves() + DIV_ROUND_UP(cold_pages - text_pages, PTRS_PER_PTE);
}

#include "coldswap_debugfs.h"

#include "coldswap_setup.h"

/**
 * coldswap_activate() - swap out what can be
 *
 * Once everything is up, text is as it will stay, and is read-only.
 */
void coldswap_activate(void)
{
	const char *obstacle;
	unsigned int i;

	text_pages = (__coldswap_end - __coldswap_start) >> PAGE_SHIFT;
	cold_pages = text_pages + ((__coldswap_data_end - __coldswap_data_start) >> PAGE_SHIFT);
	if (!cold_pages) {
		pr_info("nothing is planned to be swapped\n");
		return;
	}
	if (!wanted) {
		pr_info("off: everything stays resident\n");
		return;
	}
	picker.policy = policy;
	picker.random = 1;
	latency_cycles = div_u64((u64)latency_us * tsc_khz, 1000);

	/*
	 * A CPU that starts runs cold code before it takes part in shootdowns. Bringing
	 * one up takes text_mutex, so this comes first.
	 */
	cpu_hotplug_disable();
	obstacle = cold_obstacle();
	if (!obstacle) {
		mutex_lock(&text_mutex);
		obstacle = cold_prepare();
		if (!obstacle) {
			cold_unmap_all();
			cold_unmap_gap();
			for (i = 0; i < ARRAY_SIZE(linked); i++)
				flush_tlb_kernel_range((unsigned long)linked[i].start,
						       (unsigned long)linked[i].end);
		} else {
			cold_forget();
		}
		mutex_unlock(&text_mutex);
	}
	if (obstacle) {
		cpu_hotplug_enable();
		pr_err("everything stays resident: %s\n", obstacle);
		return;
	}
	for (i = 0; i < ARRAY_SIZE(linked); i++)
		cold_release(&linked[i]);
	pr_info("%u KiB of text and %u KiB of data swapped out, plan %s\n",
		text_pages << (PAGE_SHIFT - 10), (cold_pages - text_pages) << (PAGE_SHIFT - 10),
		coldswap_plan_id);
	pr_info("store %s (%zu KiB), %u frames, policy %s\n", on_flash ? "flash" : "lz4",
		store_size >> 10, cold_frames, policy_names[picker.policy]);
	if (selftest)
		cold_start_selftest();
}

static int __init cold_wanted(char *text)
{
	return kstrtobool(text, &wanted);
}
early_param("coldswap", cold_wanted);

static int cold_set_policy(const char *text, const struct kernel_param *kp)
{
	int found = sysfs_match_string(policy_names, text);

	if (found < 0)
		return found;
	policy = found;
	picker.policy = found;
	return 0;
}

static int cold_get_policy(char *text, const struct kernel_param *kp)
{
	return sysfs_emit(text, "%s\n", policy_names[policy]);
}

static const struct kernel_param_ops policy_ops = {
	.set = cold_set_policy,
	.get = cold_get_policy,
};
module_param_cb(policy, &policy_ops, NULL, 0644);

static int cold_set_store(const char *text, const struct kernel_param *kp)
{
	char *end;

	if (!strcmp(text, "lz4")) {
		on_flash = false;
		return 0;
	}
	if (!strstarts(text, "flash@"))
		return -EINVAL;
	flash_at = memparse(text + strlen("flash@"), &end);
	if (*end || !PAGE_ALIGNED(flash_at))
		return -EINVAL;
	on_flash = true;
	return 0;
}

static const struct kernel_param_ops store_ops = { .set = cold_set_store };
module_param_cb(store, &store_ops, NULL, 0);
module_param_named(frames, cold_frames, uint, 0444);
module_param(latency_us, uint, 0444);
module_param(selftest, uint, 0444);
module_param(touch, uint, 0444);
module_param_named(plan, expected_plan, charp, 0444);

#ifdef CONFIG_COLDSWAP_KUNIT_TEST
#include "coldswap_test.c"
#endif
