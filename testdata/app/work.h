/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Functions that are as large as functions are: a few hundred bytes each. */

#define STEP(x) x = x * 31 + 7; x ^= x >> 3;
#define STEPS4(x) STEP(x) STEP(x) STEP(x) STEP(x)
#define STEPS(x) STEPS4(x) STEPS4(x) STEPS4(x) STEPS4(x) STEPS4(x) STEPS4(x) STEPS4(x) STEPS4(x)

/* The larger half of each runs only for large numbers. */
#define WORK(n)					\
	__attribute__((noinline))		\
	unsigned work_##n(unsigned x)		\
	{					\
		STEPS(x)			\
		if (x > 0xfffffff0u) {		\
			STEPS(x)		\
			STEPS(x)		\
		}				\
		return x;			\
	}

#define DECLARE(n) unsigned work_##n(unsigned x);
#define DECLARE10(n) \
	DECLARE(n##0) DECLARE(n##1) DECLARE(n##2) DECLARE(n##3) DECLARE(n##4) \
	DECLARE(n##5) DECLARE(n##6) DECLARE(n##7) DECLARE(n##8) DECLARE(n##9)

DECLARE10(0) DECLARE10(1) DECLARE10(2) DECLARE10(3) DECLARE10(4) DECLARE10(5)

unsigned mix_more(unsigned x);
unsigned rest(unsigned x);
int complain(int count);
