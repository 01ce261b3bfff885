/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lock of the handler, and how all CPUs drop the mappings of pages that are evicted.
 *
 * Part of coldswap.c, which includes it: what a fault needs must be one piece that no call
 * leaves.
 */

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
