/* Switches and jumps by tables that are larger than what fits into a method, or a class, of Java's. */
#include <stdio.h>

/* A macro is not expanded within itself. */
#define TEN(what, n) what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) \
	what(n##5) what(n##6) what(n##7) what(n##8) what(n##9)
#define HUNDRED(what, n) what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) \
	what(n##5) what(n##6) what(n##7) what(n##8) what(n##9)
#define THOUSAND(what, n) what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) \
	what(n##5) what(n##6) what(n##7) what(n##8) what(n##9)
#define ALL(what, n) what(n##0) what(n##1) what(n##2) what(n##3) what(n##4) \
	what(n##5) what(n##6) what(n##7) what(n##8) what(n##9)

/* Each case is another number, so that no two of them are one. */
#define CASE(n) case n: x = x * 31 + n; break;
#define CASES10(n) TEN(CASE, n)
#define CASES100(n) HUNDRED(CASES10, n)
#define CASES1000(n) THOUSAND(CASES100, n)

__attribute__((noinline)) static unsigned by_switch(unsigned which, unsigned x)
{
	switch (which) {
	ALL(CASES1000, 1)
	ALL(CASES1000, 2)
	default:
		x ^= which;
	}
	return x;
}

#define LABEL(n) l##n: x = x * 31 + n; if (!--steps) return x; goto *labels[(x >> 8) % 6000];
#define LABELS10(n) TEN(LABEL, n)
#define LABELS100(n) HUNDRED(LABELS10, n)
#define LABELS1000(n) THOUSAND(LABELS100, n)
#define ADDRESS(n) &&l##n,
#define ADDRESSES10(n) TEN(ADDRESS, n)
#define ADDRESSES100(n) HUNDRED(ADDRESSES10, n)
#define ADDRESSES1000(n) THOUSAND(ADDRESSES100, n)

__attribute__((noinline)) static unsigned by_labels(unsigned x, int steps)
{
	static const void *const labels[] = {
		ADDRESSES1000(10) ADDRESSES1000(11) ADDRESSES1000(12)
		ADDRESSES1000(13) ADDRESSES1000(14) ADDRESSES1000(15)
	};
	goto *labels[x % 6000];
	LABELS1000(10) LABELS1000(11) LABELS1000(12)
	LABELS1000(13) LABELS1000(14) LABELS1000(15)
}

int main(void)
{
	unsigned x = 1;
	for (unsigned i = 0; i < 50000; i++)
		x = by_switch(i, x);
	printf("switch %08x\n", x);
	printf("next to it %08x %08x %08x %08x\n", by_switch(9999, 1), by_switch(10000, 1), by_switch(29999, 1), by_switch(-1, 1));
	printf("labels %08x %08x\n", by_labels(7, 50000), by_labels(x, 1));
	return 0;
}
