// SPDX-License-Identifier: MIT OR Apache-2.0
// Fails where the interpreter computes, compares, matches or formats wrongly.
function same(found, expected) {
	if (found !== expected)
		throw new Error(String(found) + " and not " + String(expected));
}
same(0.1 + 0.2, 0.30000000000000004);
same((255).toString(16) + (0.5).toFixed(2) + 1e21, "ff0.501e+21");
same(-7 % 3, -1);
same(1 << 31, -2147483648);
same(-1 >>> 28, 15);
same(parseInt("12px", 10) + parseFloat("1.5e2"), 162);
same("a-b-c".split("-").reverse().join("+"), "c+b+a");
same("one two three".replace(/(\w+) (\w+)/, "$2 $1"), "two one three");
same(/^(a+)+b$/.exec("aaab")[1], "aaa");
same([5, 1, 10, 3].sort(function (a, b) { return a - b; }).toString(), "1,3,5,10");
same([1, 2, 3, 4].filter(function (x) { return x % 2; }).map(function (x) { return x * x; }).length, 2);
same(JSON.stringify(JSON.parse('{"a":[1,2,{"b":null}],"c":"\\u00e9"}')), '{"a":[1,2,{"b":null}],"c":"\u00e9"}');
function Shape(side) { this.side = side; }
Shape.prototype.area = function () { return this.side * this.side; };
same(new Shape(7).area(), 49);
var counter = (function () { var n = 0; return function () { return ++n; }; })();
counter();
same(counter(), 2);
try {
	null.x;
	same(true, false);
} catch (error) {
	same(error instanceof TypeError, true);
}
var keys = [];
for (var key in { x: 1, y: 2 })
	keys.push(key);
same(keys.sort().join(), "x,y");
same(new Date(86400000).toISOString(), "1970-01-02T00:00:00.000Z");
same(Math.max(3, Math.sqrt(16), Math.floor(-0.5)), 4);
