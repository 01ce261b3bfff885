/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Is not instrumented. */
int led_visible(int n);

int (*led_address_elsewhere(void))(int)
{
	return led_visible;
}

struct led_wide {
	long values[24];
};

long led_sum(const struct led_wide *wide, int n)
{
	long sum = 0;

	for (int i = 0; i < 24; i++)
		sum += wide->values[i] * (i + n);
	return sum;
}

int led_call_elsewhere(int n)
{
	return led_visible(n) - 1;
}
