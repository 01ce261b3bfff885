/* Floating-point numbers: both widths, conversions, comparisons with and without order. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <stdint.h>

static double twice(double x) { return x * 2; }
static float half(float x) { return x / 2; }
static double mixed(int a, double b, float c, long long d) { return a + b * c - d; }

double (*volatile unary)(double) = twice;
float (*volatile single)(float) = half;
double (*volatile several)(int, double, float, long long) = mixed;

static unsigned compare(double a, double b)
{
	return (a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 |
	       (a >= b) << 5 | !!isunordered(a, b) << 6 | !!isless(a, b) << 7 |
	       !!islessgreater(a, b) << 8 | !(a < b) << 9;
}

static uint64_t bits(double x)
{
	uint64_t u;
	memcpy(&u, &x, sizeof u);
	return u;
}

int main(void)
{
	volatile double zero = 0;
	double list[] = { 0, -0.0, 1, -1, 1.5, -2.5, 3e9, -3e9, 1e-310, 1e308, HUGE_VAL, -HUGE_VAL,
			  zero / zero, 2147483647.0, -2147483648.0, 0.1 };
	int n = sizeof list / sizeof *list;
	unsigned order = 0;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++)
			order = order * 33 + compare(list[i], list[j]);
	printf("%08x\n", order);
	for (int i = 0; i < n; i++) {
		double x = list[i];
		float f = x;
		if (x != x)
			continue;
		printf("%g %a %.9g ", x, x, f);
		if (fabs(x) < 2e9)
			printf("%d %d %ld %ld ", (int)x, (int)f, lrint(x), lround(x));
		printf("%.17g %.9g %.17g\n", unary(x), single(f), several(i, x, f, i * 1000LL));
	}
	double sum = 0;
	float small = 0;
	for (int i = 1; i < 3000; i++) {
		sum += sqrt(i) / (i + 0.5) + sin(i) * cos(i / 3.0) + pow(i, 0.37) - log(i) + exp(-i / 100.0);
		sum += floor(i / 7.0) - ceil(i / 7.0) + fmod(i, 3.3) + (i & 1 ? -1.0 : 1.0) * (float)i;
		small += sqrtf(i) * 0.5f - (float)sum / i;
		if (i % 500 == 0)
			printf("%016llx %a\n", (unsigned long long)bits(sum), small);
	}
	printf("%.15g %.7g %s\n", sum, small, sum > small ? "larger" : "smaller");
	return 0;
}
