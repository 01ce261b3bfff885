/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Lua places queens, sorts, joins, searches and replaces text, and adds floating-point numbers. */
#include "../rounds.h"
#include "lauxlib.h"
#include "lua.h"
#include "lualib.h"

static const char script[] =
	"local function queens(n)\n"
	"  local count, rows, up, down = 0, {}, {}, {}\n"
	"  local function place(column)\n"
	"    if column > n then count = count + 1 return end\n"
	"    for row = 1, n do\n"
	"      if not rows[row] and not up[row + column] and not down[row - column + n] then\n"
	"        rows[row], up[row + column], down[row - column + n] = true, true, true\n"
	"        place(column + 1)\n"
	"        rows[row], up[row + column], down[row - column + n] = nil, nil, nil\n"
	"      end\n"
	"    end\n"
	"  end\n"
	"  place(1)\n"
	"  return count\n"
	"end\n"
	"local words = {}\n"
	"for i = 1, 40000 do words[i] = ('%d-%s'):format(i * 7919 % 1000, string.rep('x', i % 5)) end\n"
	"table.sort(words)\n"
	"local text = table.concat(words, ' ')\n"
	"local seen = 0\n"
	"for word in text:gmatch('%d+') do seen = seen + tonumber(word) end\n"
	"local sum = 0.0\n"
	"for i = 1, 4000000 do sum = sum + 1.0 / i end\n"
	"return string.format('%d %d %d %d %.6f', queens(8), #text, seen, #text:gsub('x+', 'y'), sum)\n";

static uint32_t kernel(void)
{
	lua_State *lua = luaL_newstate();
	luaL_openlibs(lua);
	if (luaL_dostring(lua, script)) {
		fprintf(stderr, "%s\n", lua_tostring(lua, -1));
		exit(1);
	}
	const char *result = lua_tostring(lua, -1);
	uint32_t found = hash(2166136261u, result, strlen(result));
	lua_close(lua);
	return found;
}
