static __attribute__((noinline)) int helper(int x)
{
	return x * 5;
}

int alpha(int x);

int beta(int x)
{
	return helper(x) - 1;
}

int beta_alias(int x) __attribute__((alias("beta")));

__attribute__((section(".init.text"))) void _start(void)
{
	beta(alpha(1));
	for (;;)
		;
}
