// SPDX-License-Identifier: MIT OR Apache-2.0
// Calls, tables, text and sorting. Argument: how much of it.
var much = Number(scriptArgs[0]);
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
var table = {}, text = "", i;
for (i = 0; i < 1000 * much; ++i) table["k" + (i % 997)] = (table["k" + (i % 997)] || 0) + i;
for (i = 0; i < 100 * much; ++i) text += String.fromCharCode(97 + i % 26);
var found = text.replace(/[aeiou]/g, "").length, sum = 0;
for (var key in table) sum += table[key];
var list = [];
for (i = 0; i < 100 * much; ++i) list.push((i * 7919) % 1000);
list.sort(function (a, b) { return a - b; });
for (i = 0; i < much; ++i) sum += fib(12);
print(found, sum, list[much]);
