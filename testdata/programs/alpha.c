/* Taken from an archive, with a static function whose name another file has as well. */
static __attribute__((noinline)) int helper(int x)
{
	return x * 3;
}

int alpha(int x)
{
	return helper(x) + 1;
}
