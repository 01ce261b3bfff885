/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What programs of the bench link with and wasi-libc lacks: setjmp, and functions that they do not call. */
#include "setjmp.h"
#include <stdio.h>

/* clang calls these, by the convention of its "SjLj" lowering. */
void __wasm_setjmp(void *buffer, unsigned int place, void *frame)
{
	struct wasi_jump *jump = buffer;
	jump->frame = frame;
	jump->place = place;
}

unsigned int __wasm_setjmp_test(void *buffer, void *frame)
{
	struct wasi_jump *jump = buffer;
	return jump->frame == frame ? jump->place : 0;
}

void __wasm_longjmp(void *buffer, int value)
{
	struct wasi_jump *jump = buffer;
	jump->thrown.jump = jump;
	jump->thrown.value = value ? value : 1;
	__builtin_wasm_throw(1, &jump->thrown);
}

/* The exception of longjmp. */
__asm__(".globl __c_longjmp\n.tagtype __c_longjmp i32\n__c_longjmp:\n");

FILE *tmpfile(void)
{
	return NULL;
}

char *tmpnam(char *name)
{
	(void)name;
	return NULL;
}

int system(const char *command)
{
	(void)command;
	return 0;
}
