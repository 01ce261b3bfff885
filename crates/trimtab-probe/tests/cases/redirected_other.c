/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Is not instrumented. */
int redirected_visible(int n);

int (*redirected_address_elsewhere(void))(int)
{
	return redirected_visible;
}

struct redirected_wide {
	long values[24];
};

long redirected_sum(const struct redirected_wide *wide, int n)
{
	long sum = 0;

	for (int i = 0; i < 24; i++)
		sum += wide->values[i] * (i + n);
	return sum;
}

int redirected_call_elsewhere(int n)
{
	return redirected_visible(n) - 1;
}
