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
#define AK_REGS		40

/* In struct pt_regs. */
#define AK_R15		(AK_REGS + 0)
#define AK_R14		(AK_REGS + 8)
#define AK_R13		(AK_REGS + 16)
#define AK_R12		(AK_REGS + 24)
#define AK_BP		(AK_REGS + 32)
#define AK_BX		(AK_REGS + 40)
#define AK_R11		(AK_REGS + 48)
#define AK_R10		(AK_REGS + 56)
#define AK_R9		(AK_REGS + 64)
#define AK_R8		(AK_REGS + 72)
#define AK_AX		(AK_REGS + 80)
#define AK_CX		(AK_REGS + 88)
#define AK_DX		(AK_REGS + 96)
#define AK_SI		(AK_REGS + 104)
#define AK_DI		(AK_REGS + 112)
#define AK_IP		(AK_REGS + 128)
#define AK_CS		(AK_REGS + 136)
#define AK_FLAGS	(AK_REGS + 144)
#define AK_SP		(AK_REGS + 152)
#define AK_SS		(AK_REGS + 160)

/* Vectors of interrupts, and what stands for a system call among them. */
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
