/* SPDX-License-Identifier: GPL-2.0-only */
/* A thread's floating-point registers: between a CPU, whichever it is, and where Linux keeps them. */
#ifndef APPKERNEL_FPU_H
#define APPKERNEL_FPU_H

#include <asm/cpufeature.h>
#include <asm/fpu/types.h>
#include "appkernel.h"

/* Of the features of a CPU, those that a thread's memory has room for. */
#define AK_FPU_MASK "a" ((u32)cpu->fpu_mask), "d" ((u32)(cpu->fpu_mask >> 32))

static __always_inline void ak_restore_fpu(struct ak_cpu *cpu)
{
	if (!cpu->xcr0)
		asm volatile("fxrstor64 (%0)" : : "r" (cpu->fpu) : "memory");
	else if (cpu_feature_enabled(X86_FEATURE_XSAVES))
		asm volatile("xrstors64 (%0)" : : "r" (cpu->fpu), AK_FPU_MASK : "memory");
	else
		asm volatile("xrstor64 (%0)" : : "r" (cpu->fpu), AK_FPU_MASK : "memory");
}

/* In the format that Linux uses on this machine: it reads what is saved here. */
static __always_inline void ak_save_fpu(struct ak_cpu *cpu)
{
	if (!cpu->xcr0)
		asm volatile("fxsave64 (%0)" : : "r" (cpu->fpu) : "memory");
	else if (cpu_feature_enabled(X86_FEATURE_XSAVES))
		asm volatile("xsaves64 (%0)" : : "r" (cpu->fpu), AK_FPU_MASK : "memory");
	else if (cpu_feature_enabled(X86_FEATURE_XSAVEC))
		asm volatile("xsavec64 (%0)" : : "r" (cpu->fpu), AK_FPU_MASK : "memory");
	else
		asm volatile("xsave64 (%0)" : : "r" (cpu->fpu), AK_FPU_MASK : "memory");
}

#endif
