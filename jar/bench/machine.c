/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A large switch in a loop: a machine with a stack, as interpreters have it. */
#include "rounds.h"

enum { PUSH, LOAD, STORE, ADD, SUB, MUL, AND, XOR, SHIFT, LESS, JUMP, UNLESS, CALL, RETURN, DUP, END };

static const int program[] = {
	/* 0 */ PUSH, 0, STORE, 0, PUSH, 0, STORE, 1,
	/* 8 */ LOAD, 0, PUSH, 300000, LESS, UNLESS, 48,
	/* 15 */ LOAD, 0, CALL, 50, LOAD, 1, ADD, STORE, 1,
	/* 24 */ LOAD, 1, DUP, PUSH, 3, SHIFT, XOR, STORE, 1,
	/* 33 */ LOAD, 0, PUSH, 7, AND, STORE, 2,
	/* 40 */ LOAD, 0, PUSH, 1, ADD, STORE, 0, JUMP,
	/* 48, reached as the target of the jump as well */ 8, 0,
	/* 50 */ DUP, MUL, PUSH, 12345, SUB, RETURN,
};

static uint32_t run(void)
{
	int code[64], stack[64], frame[16], calls[16];
	memcpy(code, program, sizeof program);
	code[14] = 56;
	code[56] = END;
	int at = 0, top = 0, depth = 0;
	for (;;) {
		switch (code[at++]) {
		case PUSH: stack[top++] = code[at++]; break;
		case LOAD: stack[top++] = frame[code[at++]]; break;
		case STORE: frame[code[at++]] = stack[--top]; break;
		case ADD: top--; stack[top - 1] += stack[top]; break;
		case SUB: top--; stack[top - 1] -= stack[top]; break;
		case MUL: top--; stack[top - 1] = (unsigned)stack[top - 1] * stack[top]; break;
		case AND: top--; stack[top - 1] &= stack[top]; break;
		case XOR: top--; stack[top - 1] ^= stack[top]; break;
		case SHIFT: top--; stack[top - 1] = (unsigned)stack[top - 1] >> stack[top]; break;
		case LESS: top--; stack[top - 1] = stack[top - 1] < stack[top]; break;
		case JUMP: at = code[at]; break;
		case UNLESS: if (!stack[--top]) at = code[at]; else at++; break;
		case CALL: calls[depth++] = at + 1; at = code[at]; break;
		case RETURN: at = calls[--depth]; break;
		case DUP: stack[top] = stack[top - 1]; top++; break;
		case END: return frame[1];
		}
	}
}

static uint32_t kernel(void)
{
	uint32_t result = 0;
	for (int i = 0; i < 6; i++)
		result = result * 31 + run();
	return result;
}
