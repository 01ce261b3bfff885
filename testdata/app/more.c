/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The other half of the program in main.c. */

#include <stdio.h>
#include "work.h"

WORK(30) WORK(31) WORK(32) WORK(33) WORK(34) WORK(35) WORK(36) WORK(37) WORK(38) WORK(39)
WORK(40) WORK(41) WORK(42) WORK(43) WORK(44) WORK(45) WORK(46) WORK(47) WORK(48) WORK(49)
WORK(50) WORK(51) WORK(52) WORK(53) WORK(54) WORK(55) WORK(56) WORK(57) WORK(58) WORK(59)

/* The same name as in main.c. */
__attribute__((noinline)) static unsigned mix(unsigned x)
{
	STEPS(x)
	return x + 2;
}

unsigned mix_more(unsigned x)
{
	return mix(x);
}

/* What the start does not need. */
unsigned rest(unsigned x)
{
	x = work_01(x) + work_02(x) + work_04(x) + work_05(x) + work_07(x) + work_08(x);
	x = work_10(x) + work_11(x) + work_13(x) + work_14(x) + work_16(x) + work_17(x);
	x = work_19(x) + work_20(x) + work_22(x) + work_23(x) + work_25(x) + work_26(x);
	x = work_28(x) + work_29(x) + work_31(x) + work_32(x) + work_34(x) + work_35(x);
	x = work_37(x) + work_38(x) + work_40(x) + work_41(x) + work_43(x) + work_44(x);
	x = work_46(x) + work_47(x) + work_49(x) + work_50(x) + work_52(x) + work_53(x);
	return work_55(x) + work_56(x) + work_58(x) + work_59(x);
}

/* Compilers keep this apart: in .text.unlikely.complain. */
__attribute__((cold)) int complain(int count)
{
	fprintf(stderr, "expected one argument at most, found %d\n", count - 1);
	return 2;
}

/* Nobody calls it: --gc-sections discards it. */
unsigned unused(unsigned x)
{
	STEPS(x)
	return x;
}
