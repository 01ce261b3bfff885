/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cold code swapping: kernel text that hardly ever runs, and read-only data that is
 * hardly ever read, are kept in a store, and brought into one of a few frames when
 * they are called for.
 */
#ifndef _LINUX_COLDSWAP_H
#define _LINUX_COLDSWAP_H

#include <linux/types.h>

struct pt_regs;

#ifdef CONFIG_COLDSWAP

/* The linker script places them: whole pages, the first of text and of data begins a PMD. */
extern char __coldswap_gap[], __coldswap_start[], __coldswap_end[];
extern char __coldswap_data_start[], __coldswap_data_end[];

/**
 * coldswap_is_text() - whether an address lies in text that can be swapped
 * @address: an address as linked, not one of the direct map
 */
static __always_inline bool coldswap_is_text(unsigned long address)
{
	return address - (unsigned long)__coldswap_start <
	       (unsigned long)(__coldswap_end - __coldswap_start);
}

/**
 * coldswap_contains() - whether an address lies in what can be swapped
 * @address: an address as linked, not one of the direct map
 */
static __always_inline bool coldswap_contains(unsigned long address)
{
	return coldswap_is_text(address) ||
	       address - (unsigned long)__coldswap_data_start <
	       (unsigned long)(__coldswap_data_end - __coldswap_data_start);
}

bool coldswap_fault(struct pt_regs *regs, unsigned long error_code,
		    unsigned long address);
bool coldswap_poke(void *address, const void *bytes, size_t size);
bool coldswap_released(unsigned long pfn);
bool coldswap_nmi(void);
void coldswap_activate(void);

#else

static __always_inline bool coldswap_contains(unsigned long address)
{
	return false;
}

static inline bool coldswap_fault(struct pt_regs *regs, unsigned long error_code,
				  unsigned long address)
{
	return false;
}

static inline bool coldswap_poke(void *address, const void *bytes, size_t size)
{
	return false;
}

static inline bool coldswap_released(unsigned long pfn)
{
	return false;
}

static inline void coldswap_activate(void) {}

static __always_inline bool coldswap_nmi(void)
{
	return false;
}

#endif /* CONFIG_COLDSWAP */

#endif /* _LINUX_COLDSWAP_H */
