/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What arguments.c and arguments.cc call in another object. */

#ifdef __cplusplus
extern "C" {
#endif

struct many {
	long words[7];
};
struct three {
	long x, y, z;
};
enum kind { ONE, TWO };

long other_two(long a, long b);
long other_nothing(long a);
long other_eight(long a, long b, long c, long d, long e, long f, long g, long h);
long other_ten(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j);
double other_nine(double a, double b, double c, double d, double e, double f, double g, double h,
		  double i);
long double other_extended(long double a, long b);
long other_wide(long a, long b, long c, long d, long e, __int128 f);
long other_promoted(long a, long b, long c);
struct many other_many(long a, long b, long c, long d, long e, long f);
__attribute__((ms_abi)) long other_windows(long a, long b, long c, long d, long e, long f);
__attribute__((ms_abi)) long other_windows_room(long a, long b);

#ifdef __cplusplus
}
#endif
