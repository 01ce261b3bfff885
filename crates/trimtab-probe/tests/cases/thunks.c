/* Functions whose returns and jumps are thunks: what they find above their return addresses is right. */
#include <stdio.h>
typedef long F(long, long, long, long, long, long, long);
__attribute__((noinline)) static long add(long a, long b, long c, long d, long e, long f, long g) { return a + b + c + d + e + f + 10 * g; }
__attribute__((noinline)) static long sub(long a, long b, long c, long d, long e, long f, long g) { return a - b - c - d - e - f - 10 * g; }
F *volatile functions[2] = { add, sub };
/* Ends with a call by address: what is above the return address is for that. */
__attribute__((noinline)) long hands_on(long a, long b, long c, long d, long e, long f, long g) { return functions[a & 1](a, b, c, d, e, f, g); }
/* Reads what is above its return address behind its first return. */
__attribute__((noinline)) long reads_late(long a, long b, long c, long d, long e, long f, long g)
{
	if (__builtin_expect(a > 5, 1))
		return b + c;
	__asm__ volatile("" ::: "memory");
	return g;
}
__attribute__((noinline)) long calls(long n) { long s = functions[0](n, 1, 1, 1, 1, 1, 7); __asm__ volatile("" ::: "memory"); return s + functions[1](n, 1, 1, 1, 1, 1, 8); }
int main(void)
{
	long s = 0;
	for (long i = 0; i < 10; i++)
		s = s * 3 + hands_on(i, 2, 3, 4, 5, 6, 7 + i) + reads_late(i, 1, 2, 3, 4, 5, 100 * i) + calls(i);
	printf("%ld\n", s);
	return 0;
}
