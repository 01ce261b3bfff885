// SPDX-License-Identifier: MIT OR Apache-2.0
/* Arithmetic and functions of floating-point numbers, of as many random values as the argument says: a line for each, with
   a sum over the bits of its results. With another argument, arithmetic only. Of what is no number the bits do not count. */
#define _GNU_SOURCE
#include <fenv.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state * 2685821657736338717;
}

static double number(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof x);
	return x;
}

/* Any bits, numbers of few digits, halves, close to powers of two, subnormal ones, and what is none. */
static double value(void)
{
	static const double special[] = { 0, -0.0, 1, -1, 0.5, HUGE_VAL, -HUGE_VAL, 0x1p-1074, 0x1p-1022,
		0x1.fffffffffffffp1023, 0x1p52, 0x1p31, -0x1p31, 0x1p63, 0x1.fffffep127, 0x1p-149, 3 };
	uint64_t r = next();

	switch (r >> 60) {
	case 0: return special[r % (sizeof special / sizeof *special)];
	case 1: return (int)r;
	case 2: return (int)(r % 200001) - 100000 + 0.5;
	case 3: return number(r & 0x800fffffffffffff);
	case 4: return number((r & 0x8000000000000003) | (r >> 8 & 0x7ff) << 52);
	case 5: return -number((r & 0xfffffffffffff) | (uint64_t)(1023 - 4 + (r >> 52) % 8) << 52);
	case 6: return (float)number((r & 0x800fffffffffffff) | (uint64_t)(1023 - 150 + (r >> 52 & 0xff)) << 52);
	case 7: return number(r << 4);
	default: return number((r & 0x800fffffffffffff) | (uint64_t)(1023 - 30 + (r >> 52 & 63)) << 52);
	}
}

static uint64_t sum;

static void see(double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof bits);
	if (x != x)
		bits = 0x7ff8;
	sum = (sum ^ bits) * 0x100000001b3;
	sum ^= sum >> 29;
}

static void see_float(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof bits);
	if (x != x)
		bits = 0x7ff8;
	sum = (sum ^ bits) * 0x100000001b3;
	sum ^= sum >> 29;
}

static void see_integer(long long x)
{
	sum = (sum ^ (uint64_t)x) * 0x100000001b3;
	sum ^= sum >> 29;
}

static int count;

#define EACH(name, what) do { \
	sum = 0; \
	for (int i = 0; i < count; i++) { \
		volatile double va = value(), vb = value(), vc = value(); \
		double a = va, b = vb, c = vc; \
		volatile float vf = a, vg = b, vh = c; \
		float f = vf, g = vg, h = vh; \
		(void)a, (void)b, (void)c, (void)f, (void)g, (void)h; \
		what; \
	} \
	printf("%-12s %016llx\n", name, (unsigned long long)sum); \
} while (0)
#define ONE(function) EACH(#function, (see(function(a)), see_float(function##f(f))))
#define TWO(function) EACH(#function, (see(function(a, b)), see_float(function##f(f, g))))
#define INTEGER(function) EACH(#function, (see_integer(function(a)), see_integer(function##f(f))))

static void arithmetic(void)
{
	EACH("+", (see(a + b), see_float(f + g)));
	EACH("-", (see(a - b), see_float(f - g)));
	EACH("*", (see(a * b), see_float(f * g)));
	EACH("/", (see(a / b), see_float(f / g)));
	EACH("* +", (see(a * b + c), see_float(f * g + h), see(c - a * b), see_float(-(f * g - h))));
	ONE(sqrt);
	EACH("fma", (see(fma(a, b, c)), see_float(fmaf(f, g, h)), see(fma(a, b, -a * b))));
	ONE(rint);
	ONE(nearbyint);
	EACH("narrow", see_float(a));
	EACH("from int", (see((int)i * 12345), see_float((float)(int)next()), see_float((float)(unsigned)next())));
	EACH("from long", (see((double)(int64_t)next()), see_float((float)(int64_t)next()), see((double)next())));
	INTEGER(lrint);
}

static void conversions(void)
{
	/* What does not fit is left open by C, not by the processor. */
	EACH("to int", (see_integer((int)a), see_integer((int)f), see_integer(fabs(a) < 1e9 ? (unsigned)fabs(a) : 0)));
	EACH("to long", (see_integer(fabs(a) < 9e18 ? (int64_t)a : 0), see_integer(fabsf(f) < 9e18f ? (int64_t)f : 0)));
	INTEGER(llrint);
	INTEGER(lround);
	EACH("compare", see_integer((a < b) | (a <= b) << 1 | (a == b) << 2 | (f > g) << 3 | (f >= g) << 4 | (f != g) << 5 |
				    !!isunordered(a, b) << 6 | !!islessgreater(f, g) << 7));
	EACH("classify", see_integer(fpclassify(a) | fpclassify(f) << 4 | !!signbit(a) << 8 | issignaling(a * b) << 9 |
				     issignaling(f / g) << 10 | issignaling(sqrt(a)) << 11 | issignaling((double)f) << 12));
	TWO(fmax);
	TWO(fmin);
	TWO(copysign);
	TWO(nextafter);
	TWO(fmod);
	TWO(remainder);
	TWO(fdim);
	ONE(floor);
	ONE(ceil);
	ONE(trunc);
	ONE(round);
	ONE(roundeven);
	ONE(logb);
	EACH("ldexp", (see(ldexp(a, (int)next() % 2100)), see_float(ldexpf(f, (int)next() % 300))));
	EACH("frexp", { int e; see(frexp(a, &e)); see_integer(e * (a == a)); });
	EACH("print", {
		char text[64];

		snprintf(text, sizeof text, "%.17g %.9g %a", a, f, b);
		for (char *at = text; *at; at++)
			see_integer(*at);
		see(strtod(text, NULL));
	});
}

static void functions(void)
{
	ONE(sin); ONE(cos); ONE(tan); ONE(asin); ONE(acos); ONE(atan);
	ONE(sinh); ONE(cosh); ONE(tanh); ONE(asinh); ONE(acosh); ONE(atanh);
	ONE(exp); ONE(exp2); ONE(expm1); ONE(log); ONE(log2); ONE(log10); ONE(log1p);
	ONE(cbrt); ONE(erf); ONE(erfc); ONE(tgamma); ONE(lgamma);
	EACH("bessel", (see(j0(fmod(a, 1e5))), see(y1(fmod(fabs(b), 1e5))), see_float(j1f(fmodf(f, 1e4f)))));
	TWO(pow);
	TWO(atan2);
	TWO(hypot);
}

int main(int argc, char **argv)
{
	static const int modes[] = { FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD };

	count = argc > 1 ? atoi(argv[1]) : 0;
	if (count == 0)
		count = 1000;
#ifdef ROUNDING
	for (int i = 0; i < 4; i++) {
		printf("mode %d: %d\n", i, fesetround(modes[i]));
		arithmetic();
	}
#else
	(void)modes;
	arithmetic();
#endif
	if (argc > 2)
		return 0;
	conversions();
	functions();
	return 0;
}
