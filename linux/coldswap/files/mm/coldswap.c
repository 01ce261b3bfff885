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

static __always_inline bool cold_spared(unsigned int frame, int spared,
					const unsigned long *candidates)
{
	return frame == spared || !test_bit(frame, candidates);
}

/**
 * cold_pick() - choose the frame whose page is to go
 * @p: the policy and its state
 * @count: number of frames
 * @candidates: frames that have a page
 * @recent: those of them that were used lately; for NRU
 * @spared: a frame that must stay, or -1
 * @age: set if none of them is to count as used lately any more
 *
 * Return: the frame, or -1 if there is none.
 */
static __resident int cold_pick(struct cold_picker *p, unsigned int count,
				const unsigned long *candidates,
				const unsigned long *recent, int spared, bool *age)
{
	unsigned int start = p->hand % count;
	unsigned int pass, i, frame;

	*age = false;
	if (p->policy == RANDOM) {
		p->random ^= p->random << 13;
		p->random ^= p->random >> 17;
		p->random ^= p->random << 5;
		start = p->random % count;
	}
	for (pass = p->policy == NRU ? 0 : 1; pass < 2; pass++) {
		for (i = 0; i < count; i++) {
			frame = (start + i) % count;
			if (cold_spared(frame, spared, candidates))
				continue;
			if (pass == 0 && test_bit(frame, recent))
				continue;
			p->hand = frame + 1;
			*age = p->policy == NRU && pass == 1;
			return frame;
		}
	}
	return -1;
}

/* Applies to a page what was patched in it, in the order in which it was. */
static __resident void cold_apply(u8 *data, const struct cold_patch *patch)
{
	for (; patch; patch = patch->next)
		memcpy(data + patch->offset, patch->bytes, patch->size);
}

/**
 * cold_supersede() - add a patch to those of a page
 * @head: the patches
 * @patch: the new one
 *
 * Return: those that it covers wholly, and which are no longer in the list.
 */
static __resident struct cold_patch *cold_supersede(struct cold_patch **head,
						    struct cold_patch *patch)
{
	struct cold_patch *dead = NULL, *old;

	while ((old = *head)) {
		if (old->offset >= patch->offset &&
		    old->offset + old->size <= patch->offset + patch->size) {
			*head = old->next;
			old->next = dead;
			dead = old;
		} else {
			head = &old->next;
		}
	}
	patch->next = NULL;
	*head = patch;
	return dead;
}

static __resident void cold_account(struct cold_counters *c, enum cold_context context,
				    bool fetch, bool data, u64 cycles)
{
	c->faults[context]++;
	if (!fetch)
		c->reads++;
	if (data)
		c->data_faults++;
	c->cycles += cycles;
	if (cycles > c->worst) {
		c->worst = cycles;
		c->worst_context = context;
	}
}

static __resident enum cold_context cold_context(const struct pt_regs *regs)
{
	if (in_nmi())
		return IN_NMI;
	if (in_hardirq())
		return IN_HARDIRQ;
	if (in_serving_softirq())
		return IN_SOFTIRQ;
	return regs->flags & X86_EFLAGS_IF ? IN_TASK : IRQS_OFF;
}

/* Of the pages that are being evicted, on this CPU. The kernel's image is mapped globally. */
static __resident void cold_flush_batch(void)
{
	unsigned int i;

	for (i = 0; i < batch_size; i++)
		asm volatile("invlpg (%0)" : : "r" (batch[i]) : "memory");
}

static __resident void cold_acknowledge(void)
{
	/* The batch is what it was when this epoch began, until all have flushed it. */
	unsigned int now = smp_load_acquire(&epoch);

	if (raw_cpu_read(flushed_epoch) == now)
		return;
	cold_flush_batch();
	/* The flush has to be over before its frames get other contents. */
	mb();
	raw_cpu_write(flushed_epoch, now);
}

static __resident void cold_unlock(void)
{
	atomic_set_release(&owner, NO_CPU);
}

/* A plan that misses something: nothing could bring it back. */
static __resident void cold_check_path(const struct pt_regs *regs, unsigned long address)
{
	if (atomic_read(&owner) != raw_smp_processor_id())
		return;
	cold_unlock();
	pr_emerg("%pS is swapped out, but %pS needs it to handle a fault\n",
		 (void *)address, (void *)regs->ip);
	panic("coldswap: what a fault needs must be resident: make a new plan");
}

static __resident void cold_lock(void)
{
	int me = raw_smp_processor_id();

	for (;;) {
		int holder = NO_CPU;

		if (atomic_try_cmpxchg_acquire(&owner, &holder, me))
			return;
		if (IS_ENABLED(CONFIG_SMP))
			cold_acknowledge();
		cpu_relax();
	}
}

#ifdef CONFIG_SMP
static DEFINE_PER_CPU(atomic_t, nmis_due);

/* Not through the APIC driver, which may be swapped, and may have been interrupted. */
static __resident void cold_send_nmi(unsigned int cpu)
{
	u32 target = per_cpu(x86_cpu_to_apicid, cpu);
	u32 other;

#ifdef CONFIG_X86_X2APIC
	if (x2apic_mode) {
		weak_wrmsr_fence();
		native_x2apic_icr_write(APIC_DM_NMI | APIC_DEST_PHYSICAL, target);
		return;
	}
#endif
	while (native_apic_mem_read(APIC_ICR) & APIC_ICR_BUSY)
		cpu_relax();
	other = native_apic_mem_read(APIC_ICR2);
	native_apic_mem_write(APIC_ICR2, SET_XAPIC_DEST_FIELD(target));
	native_apic_mem_write(APIC_ICR, APIC_DM_NMI | APIC_DEST_PHYSICAL);
	while (native_apic_mem_read(APIC_ICR) & APIC_ICR_BUSY)
		cpu_relax();
	native_apic_mem_write(APIC_ICR2, other);
}

/*
 * Whether a CPU that has not answered since @start never will: one that panicked in
 * an NMI, or that could not be stopped, stays online.
 */
static __resident bool cold_is_stopped(u64 start)
{
	return atomic_read(&panic_cpu) != PANIC_CPU_INVALID &&
	       rdtsc() - start > (u64)tsc_khz * MSEC_PER_SEC;
}

static __resident void cold_flush_others(void)
{
	unsigned int me = raw_smp_processor_id();
	unsigned int cpu, now = epoch + 1;
	u64 start;

	if (num_online_cpus() == 1)
		return;
	/* After the batch and the cleared page table entries. */
	smp_store_release(&epoch, now);
	raw_cpu_write(flushed_epoch, now);
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		if (cpu == me || !cpu_online(cpu))
			continue;
		atomic_inc(&per_cpu(nmis_due, cpu));
		cold_send_nmi(cpu);
	}
	start = rdtsc();
	for (cpu = 0; cpu < nr_cpu_ids; cpu++) {
		/* One that a panic stops runs no text any more. */
		while (cpu != me && cpu_online(cpu) &&
		       READ_ONCE(per_cpu(flushed_epoch, cpu)) != now &&
		       !cold_is_stopped(start))
			cpu_relax();
	}
	/* Frames get other contents only after this. */
	smp_mb();
	counters.shootdowns++;
}

/**
 * cold_take_nmi() - whether an NMI is one of those that were sent
 * @due: how many were sent to this CPU and have not come
 *
 * While one is handled one more can wait, and further ones are lost with it. One
 * that waits comes though what it asks for is done by then.
 */
static __resident bool cold_take_nmi(atomic_t *due)
{
	int sent = atomic_read(due);

	do {
		if (sent <= 0)
			return false;
	} while (!atomic_try_cmpxchg(due, &sent, min(sent - 1, 1)));
	return true;
}

static __resident bool cold_asked(void)
{
	cold_acknowledge();
	return cold_take_nmi(raw_cpu_ptr(&nmis_due));
}
#else
static __always_inline void cold_flush_others(void) {}
static __always_inline bool cold_asked(void)
{
	return false;
}
#endif

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

static unsigned int cold_leaves(void)
{
	return cold_text_leaves() + DIV_ROUND_UP(cold_pages - text_pages, PTRS_PER_PTE);
}

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
