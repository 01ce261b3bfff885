/* Where a function's caller returns to: by frame pointers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

#pragma GCC diagnostic ignored "-Wframe-address"

__attribute__((noinline)) void who(void)
{
	Dl_info info;
	void *address = __builtin_return_address(1);
	int found = dladdr(address, &info) && info.dli_sname;

	printf("its caller returns to %s\n", found ? info.dli_sname : "?");
}

__attribute__((noinline)) void middle(void)
{
	who();
	__asm__ volatile("");
}

__attribute__((noinline)) void outer(void)
{
	middle();
	__asm__ volatile("");
}

int main(void)
{
	outer();
	return 0;
}
