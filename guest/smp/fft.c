/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The Fourier transform of 2^LOG2 complex numbers, with threads: fft THREADS LOG2, where LOG2 is even.
 *
 * The six steps of D. Bailey: the numbers are a square matrix; transpose, transform each row, multiply by
 * roots of unity, transpose, transform each row, transpose. Each thread has some of the rows. The second
 * number of the result must be what its definition says. Then the transform is done backwards, and the
 * numbers must be those from before.
 */
#include "threads.h"

#include <complex.h>

typedef double complex number;

static long side, log_side;
static number *from, *to, *kept;
/* Root of unity k of `side * side`, and of `side`. */
static number *fine, *coarse;
static double apart[MOST_THREADS];
/* A thread's part of the second number of the result, by its definition. */
static number second[MOST_THREADS];

/* Cosine and sine of a part of the circle, by halving the angle: there is no library for it here. */
static number root(long part_of, long all)
{
	/* e^(i pi / 2^k) for k = 0, 1, ...; the binary digits of the angle say which to multiply. */
	double cosine = -1, sine = 0;
	number result = 1;

	for (long bit = all / 2; bit > 0; bit /= 2) {
		if (part_of & bit)
			result *= CMPLX(cosine, sine);
		/* The half of half a circle has no cosine to divide by. */
		cosine = bit == all / 2 ? 0 : __builtin_sqrt((1 + cosine) / 2);
		sine = bit == all / 2 ? 1 : sine / (2 * cosine);
	}
	return result;
}

static void transpose(int me, const number *source, number *target)
{
	for (long row = part(side, me); row < part(side, me + 1); row++)
		for (long column = 0; column < side; column++)
			target[row * side + column] = source[column * side + row];
	wait_for_all();
}

static long reversed(long value)
{
	long result = 0;

	for (long bit = 0; bit < log_side; bit++)
		result |= (value >> bit & 1) << (log_side - 1 - bit);
	return result;
}

/* A row in place. */
static void transform(number *row, bool backwards)
{
	for (long at = 0; at < side; at++) {
		long other = reversed(at);

		if (other > at) {
			number swapped = row[at];

			row[at] = row[other];
			row[other] = swapped;
		}
	}
	for (long half = 1; half < side; half *= 2)
		for (long start = 0; start < side; start += 2 * half)
			for (long at = 0; at < half; at++) {
				number turn = coarse[at * (side / (2 * half))];
				number odd = row[start + half + at] * (backwards ? conj(turn) : turn);

				row[start + half + at] = row[start + at] - odd;
				row[start + at] += odd;
			}
}

static void whole(int me, bool backwards)
{
	transpose(me, from, to);
	for (long row = part(side, me); row < part(side, me + 1); row++) {
		transform(to + row * side, backwards);
		for (long column = 0; column < side; column++) {
			number turn = fine[row * column];

			to[row * side + column] *= backwards ? conj(turn) : turn;
		}
	}
	wait_for_all();
	transpose(me, to, from);
	for (long row = part(side, me); row < part(side, me + 1); row++)
		transform(from + row * side, backwards);
	wait_for_all();
	transpose(me, from, to);
	for (long at = part(side, me) * side; at < part(side, me + 1) * side; at++)
		from[at] = backwards ? to[at] / (double)(side * side) : to[at];
	wait_for_all();
}

static double square_of(number value)
{
	return creal(value) * creal(value) + cimag(value) * cimag(value);
}

static void check_second(void)
{
	number by = from[1];

	for (int thread = 0; thread < threads; thread++)
		by -= second[thread];
	if (!(square_of(by) < 1e-14))
		fail("fft: the second number is not what its definition says");
}

static void *work(void *given)
{
	int me = (int)(intptr_t)given;
	long begin = part(side, me) * side, end = part(side, me + 1) * side;
	uint64_t state = 0x9e3779b97f4a7c15ULL * (uint64_t)(me + 1);

	for (long at = begin; at < end; at++) {
		fine[at] = conj(root(at, side * side));
		from[at] = CMPLX(random_share(&state), random_share(&state));
		kept[at] = from[at];
	}
	for (long at = part(side, me); at < part(side, me + 1); at++)
		coarse[at] = conj(root(at, side));
	for (long at = begin; at < end; at++)
		second[me] += from[at] * fine[at];
	wait_for_all();
	whole(me, false);
	if (me == 0)
		check_second();
	wait_for_all();
	whole(me, true);
	for (long at = begin; at < end; at++) {
		double square = square_of(from[at] - kept[at]);

		if (square > apart[me] || square != square)
			apart[me] = square;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	size_t all;
	long log2;

	(void)argc;
	threads = (int)argument(argv, 1, 1, MOST_THREADS);
	log2 = argument(argv, 2, 2, 26);
	if (log2 % 2)
		fail("fft: expected an even number of bits");
	log_side = log2 / 2;
	side = 1L << log_side;
	all = (size_t)(side * side);
	from = memory(all, sizeof(*from));
	to = memory(all, sizeof(*to));
	kept = memory(all, sizeof(*kept));
	fine = memory(all, sizeof(*fine));
	coarse = memory((size_t)side, sizeof(*coarse));
	on_all(work);
	for (int thread = 0; thread < threads; thread++)
		if (!(apart[thread] < 1e-20))
			fail("fft: forwards and backwards is not where it began");
	return 0;
}
