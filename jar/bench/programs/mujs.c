/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* mujs, an interpreter of JavaScript, finds primes, builds text and calls itself. */
#include "../rounds.h"
#include "mujs.h"

static const char script[] =
	"function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }\n"
	"var sieve = [], primes = 0, i, j, text = '';\n"
	"for (i = 0; i < 150000; ++i) sieve[i] = true;\n"
	"for (i = 2; i < 150000; ++i) if (sieve[i]) { primes++; for (j = i + i; j < 150000; j += i) sieve[j] = false; }\n"
	"for (i = 0; i < 2000; ++i) text += 'word' + i % 7 + ' ';\n"
	"var words = text.split(' '); words.sort();\n"
	"var result = fib(24) + ' ' + primes + ' ' + words.join('').length + ' ' + text.replace(/[0-3]/g, '').length;\n";

static uint32_t kernel(void)
{
	js_State *js = js_newstate(NULL, NULL, 0);
	if (js_dostring(js, script))
		exit(1);
	js_getglobal(js, "result");
	const char *result = js_tostring(js, -1);
	uint32_t found = hash(2166136261u, result, strlen(result));
	js_freestate(js);
	return found;
}
