// SPDX-License-Identifier: MIT OR Apache-2.0
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
var table = {}, text = "", i;
for (i = 0; i < 20000; ++i) table["k" + (i % 997)] = (table["k" + (i % 997)] || 0) + i;
for (i = 0; i < 3000; ++i) text += String.fromCharCode(97 + i % 26);
var found = text.replace(/[aeiou]/g, "").length, sum = 0;
for (var key in table) sum += table[key];
var list = [];
for (i = 0; i < 2000; ++i) list.push((i * 7919) % 1000);
list.sort(function (a, b) { return a - b; });
print(fib(20), found, sum, list[1000]);
