// An exception passes a function behind a call by address.
#include <cstdio>

static void throws(int n)
{
	if (n == 2)
		throw n;
}

static void (*volatile function)(int) = throws;

__attribute__((noinline)) static int calls(int n)
{
	char room[40];

	__asm__ volatile("" : : "r"(room) : "memory");
	function(0);
	function(n);
	__asm__ volatile("" : : "r"(room) : "memory");
	return n;
}

int main()
{
	try {
		calls(2);
	} catch (int n) {
		printf("caught %d\n", n);
	}
	return 0;
}
