// SPDX-License-Identifier: GPL-2.0-only
/*
 * Page faults of threads that are elsewhere. All of them go through CPU 0, so a program that fills memory would wait
 * for it: with the page that is written, those around it come that are not there yet.
 */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/rcupdate.h>
#include <linux/userfaultfd_k.h>
#include <linux/vmstat.h>
#include <asm/trap_pf.h>
#include "appkernel.h"

/* Regions that have only what was asked for: locked, watched, or said to be used here and there. */
#define AK_EXACT (VM_LOCKED | VM_LOCKONFAULT | VM_GROWSDOWN | VM_RAND_READ | VM_NOHUGEPAGE)

/*
 * Memory of the process alone, as long as there is enough: what a program finds in a page does not depend on when
 * it came, and huge pages bring more than this at once.
 */
static bool is_plenty(struct vm_area_struct *vma)
{
	if (!vma_is_anonymous(vma) || userfaultfd_armed(vma))
		return false;
	if (!(vma->vm_flags & VM_WRITE) || (vma->vm_flags & AK_EXACT))
		return false;
	return global_zone_page_state(NR_FREE_PAGES) > totalram_pages() / 8;
}

/* Where the table is named that has the entry of an address. Such tables stay while the lock of regions is held. */
static pmd_t *table_of(struct mm_struct *mm, unsigned long address)
{
	pud_t *pud = pud_offset(p4d_offset(pgd_offset(mm, address), address), address);

	return pud_present(*pud) && !pud_leaf(*pud) ? pmd_offset(pud, address) : NULL;
}

/*
 * Whether there is no page. The table's entries are only looked at, and Linux looks again, so it may go away behind
 * this; its memory stays meanwhile.
 */
static bool is_empty(pmd_t *table, unsigned long address)
{
	pmd_t entry;

	guard(rcu)();
	entry = READ_ONCE(*table);
	return pmd_present(entry) && !pmd_leaf(entry) && pte_none(READ_ONCE(*pte_offset_kernel(&entry, address)));
}

/* Brings in the pages of an aligned block that never were there. A table has whole blocks. */
static void bring_around(struct vm_area_struct *vma, unsigned long address)
{
	unsigned long size = PAGE_SIZE << ilog2(clamp(ak_around, 1U, (unsigned int)PTRS_PER_PTE));
	unsigned long start = max(round_down(address, size), vma->vm_start);
	unsigned long end = min(round_down(address, size) + size, vma->vm_end);
	pmd_t *table = table_of(vma->vm_mm, address);
	unsigned long counted = current->min_flt;

	for (address = start; table && address < end; address += PAGE_SIZE) {
		if (!is_empty(table, address))
			continue;
		if (handle_mm_fault(vma, address, FAULT_FLAG_WRITE, NULL) & VM_FAULT_ERROR)
			break;
	}
	/* The program took one fault, which is counted. */
	current->min_flt = counted;
}

/* With the lock of regions, which was not released if @unlocked is still false. */
static int bring(struct ak_cpu *cpu, unsigned long address, bool *unlocked)
{
	struct vm_area_struct *vma = vma_lookup(current->mm, address);
	bool write = cpu->error & X86_PF_WRITE;
	int error;

	/* A stack grows by a fault of its own, on CPU 0. */
	if (!vma)
		return -EFAULT;
	error = fixup_user_fault(current->mm, address & PAGE_MASK, write ? FAULT_FLAG_WRITE : 0, unlocked);
	if (!error && write && !*unlocked && !(cpu->error & X86_PF_PROT) && ak_around > 1 && is_plenty(vma))
		bring_around(vma, address);
	return error;
}

/**
 * ak_fault - takes a page fault for a thread that is elsewhere
 * @cpu: the CPU that it came from
 *
 * Return: true if the thread can go on there. What fails, fails on CPU 0 once more, and Linux says how.
 */
bool ak_fault(struct ak_cpu *cpu)
{
	struct mm_struct *mm = current->mm;
	unsigned long address = cpu->fault_address;
	bool unlocked = false;
	int error;

	cpu->faults++;
	if (unlikely(cpu->mm->has_proxies) && ak_proxy_faults(cpu))
		return false;
	if (cpu->error & ~(u64)(X86_PF_PROT | X86_PF_WRITE | X86_PF_USER | X86_PF_INSTR))
		return false;
	if ((cpu->error & X86_PF_PROT) && !(cpu->error & X86_PF_WRITE))
		return false;
	if (address >= TASK_SIZE_MAX)
		return false;
	if (unlikely(atomic_read(&ak_fill_count)) && ak_clear_waits(cpu))
		return true;
	mmap_read_lock(mm);
	error = bring(cpu, address, &unlocked);
	mmap_read_unlock(mm);
	if (unlikely(cpu->fill_end)) {
		ak_clear_ends(cpu);
		/* It has no CPU to go on at. */
		if (cpu->lost)
			return false;
	}
	return !error;
}
