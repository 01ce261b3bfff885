// SPDX-License-Identifier: GPL-2.0-only
/* Starts CPUs, and sends them back to where they wait for that. */
#define pr_fmt(fmt) "appkernel: " fmt

#include <linux/delay.h>
#include <linux/io.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <asm/apic.h>
#include <asm/cpufeature.h>
#include <asm/fpu/xcr.h>
#include <asm/msr.h>
#include <asm/pgtable.h>
#include <asm/tlbflush.h>
#include <asm/trapnr.h>
#include "appkernel.h"

#define STACK_ORDER 2

struct ak_cpu *ak_cpus[AK_CPUS_MAX];
unsigned int ak_cpu_count;

static unsigned long page = 0x10000;
module_param(page, ulong, 0444);
MODULE_PARM_DESC(page, "address below 1 MB of the page that CPUs start in; what is there is put back");

/* In the page that a CPU starts in; assembly knows the offsets. */
struct start {
	u16 gdt_limit;
	u32 gdt_base;
	u16 pad;
	struct { u32 offset; u16 selector; u16 pad; } __packed far32, far64;
	u64 cr3, sp, entry, cpu;
	u32 stage, pad2;
	u64 gdt[4];
} __packed;

static_assert(offsetof(struct start, far32) == AK_START_FAR32 - AK_START);
static_assert(offsetof(struct start, far64) == AK_START_FAR64 - AK_START);
static_assert(offsetof(struct start, cr3) == AK_START_CR3 - AK_START);
static_assert(offsetof(struct start, sp) == AK_START_SP - AK_START);
static_assert(offsetof(struct start, entry) == AK_START_ENTRY - AK_START);
static_assert(offsetof(struct start, cpu) == AK_START_CPU - AK_START);
static_assert(offsetof(struct start, stage) == AK_START_STAGE - AK_START);
static_assert(offsetof(struct start, gdt) == AK_START_GDT - AK_START);

/**
 * ak_interrupt - sends an interrupt to a CPU, by CPU 0's local APIC
 * @apic_id: the CPU
 * @mode: the lower half of the command register: vector and delivery mode
 */
void ak_interrupt(u32 apic_id, u32 mode)
{
	unsigned long flags;

	local_irq_save(flags);
	if (x2apic_enabled()) {
		/* A write of this register orders nothing by itself. */
		mb();
		wrmsrl(APIC_BASE_MSR + (APIC_ICR >> 4), (u64)apic_id << 32 | mode);
	} else {
		u32 *base = (u32 *)((char *)ak_eoi_register - APIC_EOI);

		while (READ_ONCE(base[APIC_ICR / 4]) & APIC_ICR_BUSY)
			cpu_relax();
		WRITE_ONCE(base[APIC_ICR2 / 4], apic_id << 24);
		WRITE_ONCE(base[APIC_ICR / 4], mode);
	}
	local_irq_restore(flags);
}

/* A page table with the kernel's half of this one, and if asked for the first 2 MB where they are. */
static pgd_t *page_table(bool identity)
{
	pgd_t *table = (pgd_t *)get_zeroed_page(GFP_KERNEL | GFP_DMA32);
	u64 *upper, *middle;

	if (!table)
		return NULL;
	memcpy(table + PTRS_PER_PGD / 2, (pgd_t *)__va(read_cr3_pa()) + PTRS_PER_PGD / 2, PAGE_SIZE / 2);
	if (!identity)
		return table;
	upper = (u64 *)get_zeroed_page(GFP_KERNEL);
	middle = (u64 *)get_zeroed_page(GFP_KERNEL);
	if (!upper || !middle) {
		free_page((unsigned long)upper);
		free_page((unsigned long)middle);
		free_page((unsigned long)table);
		return NULL;
	}
	middle[0] = _PAGE_PRESENT | _PAGE_RW | _PAGE_PSE;
	upper[0] = __pa(middle) | _PAGE_PRESENT | _PAGE_RW;
	((u64 *)table)[0] = __pa(upper) | _PAGE_PRESENT | _PAGE_RW;
	return table;
}

static void free_page_table(pgd_t *table)
{
	u64 upper = ((u64 *)table)[0] & PTE_PFN_MASK;

	if (upper) {
		free_page((unsigned long)__va(*(u64 *)__va(upper) & PTE_PFN_MASK));
		free_page((unsigned long)__va(upper));
	}
	free_page((unsigned long)table);
}

static void set_gate(gate_desc *gate, unsigned long address, unsigned int level, unsigned int stack)
{
	memset(gate, 0, sizeof(*gate));
	gate->offset_low = address;
	gate->offset_middle = address >> 16;
	gate->offset_high = address >> 32;
	gate->segment = __KERNEL_CS;
	gate->bits.type = GATE_INTERRUPT;
	gate->bits.p = 1;
	gate->bits.dpl = level;
	gate->bits.ist = stack;
}

/*
 * Descriptors as CPU 0 has them, with a task state of its own; the number that getcpu(2) reads is 0. There is
 * no 32-bit code: its system calls have no entry here.
 */
static void fill_gdt(struct ak_cpu *cpu)
{
	struct desc_ptr own;
	tss_desc tss;

	native_store_gdt(&own);
	memcpy(cpu->gdt, (void *)own.address, sizeof(cpu->gdt));
	memset(&cpu->gdt[GDT_ENTRY_DEFAULT_USER32_CS], 0, sizeof(cpu->gdt[0]));
	set_tssldt_descriptor(&tss, (unsigned long)&cpu->tss, DESC_TSS, sizeof(cpu->tss) - 1);
	memcpy(&cpu->gdt[GDT_ENTRY_TSS], &tss, sizeof(tss));
}

/* A stack each for NMI, double fault and machine check; what else comes from user mode finds the thread's. */
static int fill_tss(struct ak_cpu *cpu)
{
	u64 *stacks[] = { &cpu->tss.ist[0], &cpu->tss.ist[1], &cpu->tss.ist[2] };

	for (unsigned int i = 0; i < ARRAY_SIZE(stacks); i++) {
		unsigned long stack = get_zeroed_page(GFP_KERNEL);
		u64 top = stack + PAGE_SIZE;

		if (!stack)
			return -ENOMEM;
		/* The structure is packed. */
		memcpy(stacks[i], &top, sizeof(top));
	}
	cpu->tss.io_bitmap_base = sizeof(cpu->tss);
	return 0;
}

static void fill_idt(struct ak_cpu *cpu)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(cpu->idt); i++) {
		bool of_user = i == X86_TRAP_BP || i == X86_TRAP_OF;

		set_gate(&cpu->idt[i], (unsigned long)ak_vectors + 16 * i, of_user ? 3 : 0, 0);
	}
	set_gate(&cpu->idt[X86_TRAP_NMI], (unsigned long)ak_nmi, 0, 1);
	set_gate(&cpu->idt[X86_TRAP_DF], (unsigned long)ak_double_fault, 0, 2);
	set_gate(&cpu->idt[X86_TRAP_MC], (unsigned long)ak_machine_check, 0, 3);
}

static void fill_registers(struct ak_cpu *cpu)
{
	cpu->cr0 = read_cr0() & ~X86_CR0_TS;
	/* Each load of a page table then forgets all translations: what makes them fresh. */
	cpu->cr4 = __read_cr4() & ~(X86_CR4_PCIDE | X86_CR4_PGE | X86_CR4_PKE);
	rdmsrl(MSR_IA32_CR_PAT, cpu->pat);
	rdmsrl(MSR_EFER, cpu->efer);
	rdmsrl(MSR_STAR, cpu->star);
	rdmsrl(MSR_SYSCALL_MASK, cpu->syscall_mask);
	rdmsrl(MSR_IA32_APICBASE, cpu->apic_base);
	cpu->apic_base &= ~(u64)MSR_IA32_APICBASE_BSP;
	if (cpu->cr4 & X86_CR4_OSXSAVE)
		cpu->xcr0 = xgetbv(XCR_XFEATURE_ENABLED_MASK);
	if (boot_cpu_has(X86_FEATURE_XSAVES))
		rdmsrl(MSR_IA32_XSS, cpu->xss);
	if (boot_cpu_has(X86_FEATURE_MSR_SPEC_CTRL))
		rdmsrl(MSR_IA32_SPEC_CTRL, cpu->spec_ctrl);
	/* Those of a program that asked for nothing; others are unsupported. Linux carries protection keys apart. */
	cpu->fpu_mask = current->thread.fpu.fpstate->xfeatures & ~XFEATURE_MASK_PKRU;
	if (boot_cpu_has(X86_FEATURE_XFD))
		rdmsrl(MSR_IA32_XFD, cpu->xfd);
}

static void free_cpu(struct ak_cpu *cpu)
{
	u64 tops[] = { cpu->tss.ist[0], cpu->tss.ist[1], cpu->tss.ist[2] };

	for (unsigned int i = 0; i < ARRAY_SIZE(tops); i++)
		if (tops[i])
			free_page(tops[i] - PAGE_SIZE);
	if (cpu->stack)
		free_pages(cpu->stack, STACK_ORDER);
	if (cpu->kernel_cr3)
		free_page_table(__va(cpu->kernel_cr3));
	free_pages((unsigned long)cpu, get_order(sizeof(*cpu)));
}

static struct ak_cpu *make_cpu(u32 apic_id, unsigned int index)
{
	struct ak_cpu *cpu = (void *)__get_free_pages(GFP_KERNEL | __GFP_ZERO, get_order(sizeof(*cpu)));
	pgd_t *table;

	if (!cpu)
		return NULL;
	cpu->apic_id = apic_id;
	cpu->home_id = boot_cpu_physical_apicid;
	cpu->index = index;
	cpu->stack = __get_free_pages(GFP_KERNEL | __GFP_ZERO, STACK_ORDER);
	table = page_table(false);
	if (table)
		cpu->kernel_cr3 = __pa(table);
	if (!cpu->stack || !table || fill_tss(cpu)) {
		free_cpu(cpu);
		return NULL;
	}
	fill_gdt(cpu);
	fill_idt(cpu);
	fill_registers(cpu);
	return cpu;
}

static void fill_start(char *code, struct ak_cpu *cpu, pgd_t *table)
{
	struct start start = {
		.gdt_limit = sizeof(start.gdt) - 1,
		.gdt_base = page + AK_START_GDT,
		.far32 = { page + ak_start_protected, AK_SEL_CODE32, 0 },
		.far64 = { page + ak_start_long, AK_SEL_CODE64, 0 },
		.cr3 = __pa(table),
		.sp = cpu->stack + (PAGE_SIZE << STACK_ORDER) - 8,
		.entry = (u64)ak_cpu_main,
		.cpu = (u64)cpu,
		.gdt = { 0, 0x00cf9b000000ffff, 0x00cf93000000ffff, 0x00af9b000000ffff },
	};

	memcpy(code, ak_start_code, ak_start_end - ak_start_code);
	memcpy(code + AK_START, &start, sizeof(start));
}

static bool came_up(struct ak_cpu *cpu, unsigned int milliseconds)
{
	while (milliseconds-- && ak_state(cpu) == AK_OFFLINE)
		mdelay(1);
	return ak_state(cpu) == AK_IDLE;
}

/* INIT, and the start-up interrupt twice, as the manuals of these CPUs ask for. */
static int start_cpu(struct ak_cpu *cpu, char *code, pgd_t *table)
{
	u32 stage;

	fill_start(code, cpu, table);
	wbinvd();
	ak_halt_cpu(cpu);
	mdelay(10);
	for (unsigned int i = 0; i < 2; i++) {
		ak_interrupt(cpu->apic_id, APIC_DM_STARTUP | page >> PAGE_SHIFT);
		/* That of a guest on a busy machine may have to wait for its turn. */
		if (came_up(cpu, i ? 3000 : 100))
			return 0;
	}
	memcpy(&stage, code + AK_START_STAGE, sizeof(stage));
	pr_err("the CPU with APIC id %u did not start: it came to stage %u of 3\n", cpu->apic_id, stage);
	ak_halt_cpu(cpu);
	return -EIO;
}

/* How many of the CPUs that are there are to be started, or an error. */
static int how_many(unsigned int wanted, unsigned int there, bool others)
{
	if (!there) {
		if (others)
			pr_err("Linux runs all CPUs of this machine: boot with maxcpus=1, or take some offline\n");
		else
			pr_err("this machine has one CPU\n");
		return -ENODEV;
	}
	if (page >= SZ_1M - PAGE_SIZE || !PAGE_ALIGNED(page)) {
		pr_err("page=%#lx is no page below 1 MB\n", page);
		return -EINVAL;
	}
	if (wanted > there)
		pr_warn("asked for %u CPUs, there are %u\n", wanted, there);
	return wanted && wanted < there ? wanted : there;
}

/**
 * ak_start_cpus - starts the CPUs that Linux does not run
 * @wanted: how many at most; 0 for all
 *
 * With the lock of CPUs, or Linux could start the same.
 *
 * Return: 0, or an error if not even one runs.
 */
int ak_start_cpus(unsigned int wanted)
{
	u32 ids[AK_CPUS_MAX];
	bool others;
	unsigned int there = ak_find_cpus(ids, ARRAY_SIZE(ids), &others);
	int count = how_many(wanted, there, others), error = -EIO;
	char *code = phys_to_virt(page), *before;
	pgd_t *table;

	if (count < 0)
		return count;
	BUILD_BUG_ON(AK_START + sizeof(struct start) > PAGE_SIZE);
	ak_eoi_register = x2apic_enabled() ? NULL : (u32 *)((char *)APIC_BASE + APIC_EOI);
	before = kmemdup(code, PAGE_SIZE, GFP_KERNEL);
	table = page_table(true);
	if (!before || !table) {
		kfree(before);
		if (table)
			free_page_table(table);
		return -ENOMEM;
	}
	for (int i = 0; i < count; i++) {
		struct ak_cpu *cpu = make_cpu(ids[i], ak_cpu_count + 1);

		if (!cpu) {
			error = -ENOMEM;
			break;
		}
		if (start_cpu(cpu, code, table))
			free_cpu(cpu);
		else
			ak_cpus[ak_cpu_count++] = cpu;
	}
	memcpy(code, before, PAGE_SIZE);
	kfree(before);
	free_page_table(table);
	return ak_cpu_count ? 0 : error;
}

/**
 * ak_halt_cpu - sends a CPU back to where it waits for a start-up interrupt
 * @cpu: the CPU
 *
 * INIT stops a CPU whatever it does. Can be called from any context.
 */
void ak_halt_cpu(struct ak_cpu *cpu)
{
	ak_interrupt(cpu->apic_id, APIC_INT_ASSERT | APIC_INT_LEVELTRIG | APIC_DM_INIT);
}

/* The same of all CPUs. */
void ak_halt_cpus(void)
{
	for (unsigned int i = 0; i < ak_cpu_count; i++)
		ak_halt_cpu(ak_cpus[i]);
}

/**
 * ak_stop_cpus - gives all CPUs back, and their memory
 *
 * No thread may be on them.
 */
void ak_stop_cpus(void)
{
	/* Each halts by itself, so that none executes the module's code any more where the INIT comes late. */
	for (unsigned int i = 0; i < ak_cpu_count; i++) {
		struct ak_cpu *cpu = ak_cpus[i];

		if (cpu->lost || (ak_state(cpu) != AK_IDLE && ak_state(cpu) != AK_DONE))
			continue;
		ak_set_state(cpu, AK_STOP);
		ak_kick(cpu);
		for (unsigned int wait = 0; wait < 3000 && ak_state(cpu) == AK_STOP; wait++)
			mdelay(1);
	}
	ak_halt_cpus();
	mdelay(10);
	while (ak_cpu_count)
		free_cpu(ak_cpus[--ak_cpu_count]);
}
