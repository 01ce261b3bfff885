/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A program whose start needs every third of its functions; see start.trace. */

#include <stdio.h>
#include "work.h"

/* The same name as in more.c. */
__attribute__((noinline)) static unsigned mix(unsigned x)
{
	STEPS(x)
	return x + 1;
}

WORK(00) WORK(01) WORK(02) WORK(03) WORK(04) WORK(05) WORK(06) WORK(07) WORK(08) WORK(09)
WORK(10) WORK(11) WORK(12) WORK(13) WORK(14) WORK(15) WORK(16) WORK(17) WORK(18) WORK(19)
WORK(20) WORK(21) WORK(22) WORK(23) WORK(24) WORK(25) WORK(26) WORK(27) WORK(28) WORK(29)

int main(int argc, char **argv)
{
	unsigned x = 1;

	(void)argv;
	if (argc > 2)
		return complain(argc);
	x = work_57(x) + work_00(x) + work_54(x) + work_03(x) + work_51(x);
	x = work_06(x) + work_48(x) + work_09(x) + work_45(x) + work_12(x);
	x = work_42(x) + work_15(x) + work_39(x) + work_18(x) + work_36(x);
	x = work_21(x) + work_33(x) + work_24(x) + work_30(x) + work_27(x);
	printf("started: %u\n", mix(x) + mix_more(x));
	if (argc > 1)
		printf("all: %u\n", rest(x));
	return 0;
}
