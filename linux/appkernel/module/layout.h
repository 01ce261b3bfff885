/* SPDX-License-Identifier: GPL-2.0-only */
/* Offsets that assembly and C share; cpu.c and start.c check them. */
#ifndef APPKERNEL_LAYOUT_H
#define APPKERNEL_LAYOUT_H

/* In struct ak_cpu. */
#define AK_KERNEL_SP	0
#define AK_KERNEL_CR3	8
#define AK_USER_CR3	16
#define AK_VECTOR	24
#define AK_ERROR	32
#define AK_SCRATCH	40
/* Behind the registers of the thread: where the CPU's stack begins that user mode leads to. */
#define AK_REGS_END	68

/* Of struct pt_regs. */
#define AK_REGS_SIZE	168

/* Vectors of interrupts, from the first on, and what stands for a system call among them. */
#define AK_EXTERNAL	0x20
#define AK_KICK		0xd0
#define AK_SPURIOUS	0xff
#define AK_SYSCALL	0x100

/* In the page below 1 MB: where the parameters of a start are, and in these. */
#define AK_START	0x800
#define AK_START_GDTR	(AK_START + 0)
#define AK_START_FAR32	(AK_START + 8)
#define AK_START_FAR64	(AK_START + 16)
#define AK_START_CR3	(AK_START + 24)
#define AK_START_SP	(AK_START + 32)
#define AK_START_ENTRY	(AK_START + 40)
#define AK_START_CPU	(AK_START + 48)
#define AK_START_STAGE	(AK_START + 56)
#define AK_START_GDT	(AK_START + 64)

/* Selectors of that page's descriptor table. */
#define AK_SEL_CODE32	0x08
#define AK_SEL_DATA	0x10
#define AK_SEL_CODE64	0x18

#endif
