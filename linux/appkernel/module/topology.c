// SPDX-License-Identifier: GPL-2.0-only
/* Which CPUs the machine has that Linux does not run: from ACPI's table, or from the older MP table. */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/acpi.h>
#include <linux/cpumask.h>
#include <linux/io.h>
#include <linux/smp.h>
#include <asm/apic.h>
#include <asm/mpspec.h>
#include "appkernel.h"

/* Where firmware may leave the pointer to the MP table: the extended BIOS data, and the BIOS itself. */
static const struct { phys_addr_t start; size_t size; } places[] = {
	{ 0x80000, 0x20000 }, { 0xf0000, 0x10000 },
};

struct found {
	u32 *ids;
	unsigned int count, size;
	bool others;
};

static bool runs_linux(u32 id)
{
#ifdef CONFIG_SMP
	unsigned int cpu;

	for_each_online_cpu(cpu)
		if (cpu_physical_id(cpu) == id)
			return true;
	return false;
#else
	return id == boot_cpu_physical_apicid;
#endif
}

static void add(struct found *found, u32 id)
{
	found->others |= id != boot_cpu_physical_apicid;
	if (runs_linux(id) || found->count == found->size)
		return;
	for (unsigned int i = 0; i < found->count; i++)
		if (found->ids[i] == id)
			return;
	found->ids[found->count++] = id;
}

#ifdef CONFIG_ACPI
static void find_in_madt(struct found *found)
{
	struct acpi_table_header *table;
	char *at, *end;

	if (ACPI_FAILURE(acpi_get_table(ACPI_SIG_MADT, 0, &table)))
		return;
	at = (char *)table + sizeof(struct acpi_table_madt);
	end = (char *)table + table->length;
	while (at + sizeof(struct acpi_subtable_header) <= end) {
		struct acpi_subtable_header *entry = (void *)at;
		struct acpi_madt_local_apic *local = (void *)at;
		struct acpi_madt_local_x2apic *x2apic = (void *)at;

		if (entry->length < sizeof(*entry) || at + entry->length > end)
			break;
		if (entry->type == ACPI_MADT_TYPE_LOCAL_APIC && entry->length >= sizeof(*local) &&
		    (local->lapic_flags & ACPI_MADT_ENABLED))
			add(found, local->id);
		if (entry->type == ACPI_MADT_TYPE_LOCAL_X2APIC && entry->length >= sizeof(*x2apic) &&
		    (x2apic->lapic_flags & ACPI_MADT_ENABLED))
			add(found, x2apic->local_apic_id);
		at += entry->length;
	}
	acpi_put_table(table);
}
#else
static void find_in_madt(struct found *found) {}
#endif

static bool sums_to_zero(const u8 *bytes, size_t size)
{
	u8 sum = 0;

	while (size--)
		sum += *bytes++;
	return sum == 0;
}

static void read_mp_table(struct found *found, phys_addr_t where)
{
	bool low = where < SZ_1M - PAGE_SIZE;
	/* What is below 1 MB Linux has mapped, whatever it is. */
	struct mpc_table *table = low ? phys_to_virt(where) : memremap(where, PAGE_SIZE, MEMREMAP_WB);
	u8 *at, *end;

	if (!table)
		return;
	if (memcmp(table->signature, MPC_SIGNATURE, 4) || table->length > PAGE_SIZE ||
	    table->length < sizeof(*table) || !sums_to_zero((u8 *)table, table->length))
		goto out;
	at = (u8 *)(table + 1);
	end = (u8 *)table + table->length;
	/* Entries for processors come first. */
	while (at + sizeof(struct mpc_cpu) <= end && *at == MP_PROCESSOR) {
		struct mpc_cpu *cpu = (void *)at;

		if (cpu->cpuflag & CPU_ENABLED)
			add(found, cpu->apicid);
		at += sizeof(*cpu);
	}
out:
	if (!low)
		memunmap(table);
}

static void find_in_mp_table(struct found *found)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(places); i++) {
		u8 *area = phys_to_virt(places[i].start);

		for (size_t at = 0; at + sizeof(struct mpf_intel) <= places[i].size; at += 16) {
			struct mpf_intel *pointer = (void *)(area + at);

			if (memcmp(pointer->signature, "_MP_", 4) || !sums_to_zero(area + at, 16))
				continue;
			if (pointer->physptr)
				read_mp_table(found, pointer->physptr);
			break;
		}
		if (found->count || found->others)
			return;
	}
}

/**
 * ak_find_cpus - finds the CPUs that Linux does not run
 * @ids: gets their numbers in the machine
 * @size: room in @ids
 * @others: gets whether the machine has a CPU beside that which Linux was started on
 *
 * With the lock of CPUs.
 *
 * Return: how many there are.
 */
int ak_find_cpus(u32 *ids, unsigned int size, bool *others)
{
	struct found found = { ids, 0, size, false };

	find_in_madt(&found);
	if (!found.count)
		find_in_mp_table(&found);
	*others = found.others;
	return found.count;
}
