/* SPDX-License-Identifier: MIT OR Apache-2.0 */
static int leaf(int a)
{
	return a * 3;
}

int caller(int a, int b, int c, int d, int e, int f, int g)
{
	return leaf(a) + g;
}

int loops(const char *text)
{
	int sum = 0;

	while (*text)
		sum += *text++;
	return sum;
}

int main(void)
{
	return caller(1, 2, 3, 4, 5, 6, 7) + loops("ab");
}
