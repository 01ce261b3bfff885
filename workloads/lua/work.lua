-- SPDX-License-Identifier: MIT OR Apache-2.0
-- Places queens; sorts, joins, searches and replaces text. Arguments: queens, and words.
local function queens(n)
  local count, rows, up, down = 0, {}, {}, {}
  local function place(column)
    if column > n then count = count + 1 return end
    for row = 1, n do
      if not rows[row] and not up[row + column] and not down[row - column + n] then
        rows[row], up[row + column], down[row - column + n] = true, true, true
        place(column + 1)
        rows[row], up[row + column], down[row - column + n] = nil, nil, nil
      end
    end
  end
  place(1)
  return count
end
local words = {}
for i = 1, tonumber(arg[2]) do
  words[#words + 1] = ("%d-%s"):format(i * 7919 % 1000, string.rep("x", i % 5))
end
table.sort(words)
local text = table.concat(words, " ")
local seen = 0
for word in text:gmatch("%d+") do seen = seen + tonumber(word) end
print(queens(tonumber(arg[1])), #text, seen, (text:gsub("x+", "y")):len())
