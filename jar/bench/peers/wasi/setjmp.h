/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* setjmp by exceptions of WebAssembly, which clang translates calls to; wasi-libc has none. */
#ifndef TRIMTAB_WASI_SETJMP_H
#define TRIMTAB_WASI_SETJMP_H

struct wasi_jump {
	void *frame; /* of the function that called setjmp, while that runs */
	unsigned int place; /* which of its calls */
	struct { void *jump; int value; } thrown;
};
typedef struct wasi_jump jmp_buf[1];

__attribute__((returns_twice)) int setjmp(jmp_buf);
_Noreturn void longjmp(jmp_buf, int);

#endif
