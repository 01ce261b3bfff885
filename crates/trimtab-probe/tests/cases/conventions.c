/* Arguments and results of every kind, and variables of sizes and alignments that take a frame of their own. */
#include <stdarg.h>
#include <stdio.h>
#include <complex.h>
#include <immintrin.h>
#define N __attribute__((noinline))
struct big { long a[17]; }; struct mid { double a; long b; }; struct f2 { float a, b, c; };
N double sum(int n, ...) { va_list l; va_start(l, n); double s = 0; while (n--) s += va_arg(l, double); va_end(l); return s; }
N static long vs(int n, va_list l) { long s = 0; while (n--) s = s * 3 + va_arg(l, long); return s; }
N long ls(int n, ...) { va_list l; va_start(l, n); long r = vs(n, l); va_end(l); return r; }
N struct big bigr(struct big b, int k, struct mid m) { for (int i = 0; i < 17; i++) b.a[i] = b.a[i] * k + m.b; return b; }
N struct mid midr(struct f2 f, struct mid m, struct big b) { m.a += f.a + f.b + f.c; m.b += b.a[16]; return m; }
N long double ldr(long double a, long double b, int c) { return a * b + c; }
N long double complex ldc(long double complex a) { return a * 2; }
N _Complex double dc(_Complex double a, double b) { return a * b; }
N __int128 i128(__int128 a, long b, long c, long d, long e, __int128 f) { return a * f + b + c + d + e; }
__attribute__((noinline, target("avx2"))) __m256d vec(__m256d a, __m256d b, __m256d c, __m256d d, __m256d e, __m256d f, __m256d g, __m256d h, __m256d i) { return a + b + c + d + e + f + g + h * i; }
N int al(int x) { volatile char buf[64] __attribute__((aligned(64))); buf[0] = x; return ((unsigned long)buf & 63) == 0 ? buf[0] : -1; }
N int dyn(int n) { volatile char b[n]; for (int i = 0; i < n; i++) b[i] = i; volatile char *p = __builtin_alloca(n); p[0] = b[n - 1]; return p[0]; }
N int args(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l) { return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j + 11 * k + 12 * l; }
N int changes(int a, int b, int c, int d, int e, int f, int g, int h) { volatile int *p = &g; *p = g + 1; p = &h; *p += 2; return a + g * h; }
N int tail(int a, int b, int c, int d, int e, int f, int g, int h, int i) { return args(i, h, g, f, e, d, c, b, a, 1, 2, 3); }
N int tail2(int a, int b, int c, int d, int e, int f, int g, int h) { return changes(h, g, f, e, d, c, b, a); }
__attribute__((ms_abi, noinline)) long ms(long a, long b, long c, long d, long e, double f) { return a + b * 2 + c * 3 + d * 4 + e * 5 + (long)f; }
__attribute__((noinline, target("avx2"))) int avx(void) { __m256d a = _mm256_set1_pd(2); a = vec(a, a, a, a, a, a, a, a, a); return a[3]; }
int main(void)
{
	struct big b; for (int i = 0; i < 17; i++) b.a[i] = i; struct mid m = { 1.5, 7 }; struct f2 f = { 1, 2, 3 };
	printf("%g %ld\n", sum(12, 1., 2., 3., 4., 5., 6., 7., 8., 9., 10., 11., 12.), ls(9, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L));
	struct big r = bigr(b, 3, m); printf("%ld\n", r.a[16]);
	m = midr(f, m, b); printf("%g %ld\n", m.a, m.b);
	printf("%Lg %Lg %g\n", ldr(2.5L, 4, 3), creall(ldc(2 + 3 * I)), cimag(dc(1 + 2 * I, 4)));
	printf("%ld\n", (long)i128(3, 1, 2, 3, 4, 5));
	printf("%d %d %d\n", al(5), dyn(77), args(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
	printf("%d %d %d\n", changes(1, 2, 3, 4, 5, 6, 7, 8), tail(1, 2, 3, 4, 5, 6, 7, 8, 9), tail2(1, 2, 3, 4, 5, 6, 7, 8));
	printf("%ld\n", ms(1, 2, 3, 4, 5, 6));
	if (__builtin_cpu_supports("avx2")) printf("%d\n", avx());
}
