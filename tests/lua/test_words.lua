-- The lint of words (tests/lint/words.lua): what it finds, and that it fails then.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")

TestWords = {}

local function lint(name, text)
  return support.shell((os.getenv("LUA") or "lua5.4") .. " tests/lint/words.lua " .. support.write(name, text))
end

function TestWords.test_beginnings_of_comments()
  for _, case in ipairs({ { "bad.lua", "local a = 1\n-" .. "- What it is.\n" },
    { "bad.c", "int a; /" .. "* Of a head. */\n" }, { "bad.h", "/" .. "* Where it lies. */\n" },
    { "bad.py", 'def f():\n    """What it returns."""\n' }, { "bad.sh", "#" .. " The same for others.\n" } }) do
    local text, good = lint(table.unpack(case))
    lu.assertNil(good, case[1])
    lu.assertStrContains(text, "a comment begins with")
  end
end

function TestWords.test_comments_that_are_fine()
  for _, case in ipairs({ { "good.lua", "-- Rows of a head.\n-" .. "- What follows goes on in a second line.\n" },
    { "good.c", "/* Offsets, in bytes.\n * Of every head one. */\n" } }) do
    local text, good = lint(table.unpack(case))
    lu.assertTrue(good, text)
  end
end

function TestWords.test_long_files()
  local text, good = lint("long.lua", ("local _ = 1\n"):rep(451))
  lu.assertNil(good)
  lu.assertStrContains(text, "451 lines, expected at most 450")
end

support.run()
