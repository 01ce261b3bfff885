-- SPDX-License-Identifier: MIT OR Apache-2.0
-- Fails where the interpreter computes, compares, collects or formats wrongly.
assert(7 // 2 == 3 and -7 // 2 == -4 and -7 % 3 == 2 and 7.5 // 2 == 3.0)
assert(math.maxinteger + 1 == math.mininteger and 1 << 63 == math.mininteger)
assert(("%5.2f|%x|%q"):format(3.14159, 255, "a\n") == " 3.14|ff|\"a\\\n\"")
assert(tostring(1e15) == "1e+15" and 10 / 2 == 5.0 and tostring(10 / 2) == "5.0")
assert(("one two"):find("(%w+) (%w+)") == 1 and ("abc"):rep(3, "-") == "abc-abc-abc")
assert(select("#", string.byte("hello", 1, -1)) == 5 and ("hello"):upper() == "HELLO")
local list = {}
for i = 1, 500 do list[i] = i * 7919 % 503 end
table.sort(list, function(a, b) return a > b end)
for i = 2, #list do assert(list[i - 1] >= list[i]) end
local generator = coroutine.wrap(function() for i = 1, 10 do coroutine.yield(i * i) end end)
local sum = 0
for _ = 1, 10 do sum = sum + generator() end
assert(sum == 385)
local meta = setmetatable({}, {
  __index = function(_, key) return key .. "!" end,
  __add = function(_, other) return other + 1 end,
  __call = function(_, a, b) return a * b end,
})
assert(meta.x == "x!" and meta + 4 == 5 and meta(6, 7) == 42)
local ok, message = pcall(function() error({ code = 7 }) end)
assert(not ok and message.code == 7)
assert(not pcall(function() return nil + 1 end))
local weak = setmetatable({}, { __mode = "k" })
weak[{}] = true
collectgarbage()
assert(next(weak) == nil)
local function many(n) if n == 0 then return "end" end return many(n - 1) end
assert(many(100000) == "end")
assert(load("return 1 + ...")(2) == 3 and load("return +") == nil)
assert(string.unpack("<i4", string.pack("<i4", -5)) == -5)
goto done
error("goto does not work")
::done::
