/* Nothing that can be instrumented, without unwind tables. */
int main(void)
{
	return 7;
}
