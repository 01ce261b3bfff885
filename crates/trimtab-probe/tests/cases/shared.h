/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What several objects have, and the linker keeps once. */
struct failure {
	int n;
};

template <class T> __attribute__((noinline)) T twice(T n)
{
	if (n < 0)
		throw failure{ (int)n };
	return n + n;
}

struct counter {
	static int all;
	__attribute__((noinline)) ~counter() { all++; }
};

template <class T> __attribute__((noinline)) T guarded(T n)
{
	counter one;

	return n % 2 ? twice(n) : twice(n / 2);
}

long other(long n);
