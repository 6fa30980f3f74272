-- The lint of words (tests/lint/words.lua): its findings, and its exit code.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")

TestWords = {}

local function lint(name, text)
  return support.shell((os.getenv("LUA") or "lua5.4") .. " tests/lint/words.lua " .. support.write(name, text))
end

function TestWords.test_wrong_beginnings_of_comments_are_reported()
  for _, case in ipairs({ { "bad.lua", "local a = 1\n-" .. "- What it is.\n" },
    { "bad.c", "int a; /" .. "* Of a head. */\n" }, { "bad.h", "/" .. "* Where it lies. */\n" },
    { "bad.py", 'def f():\n    """What it returns."""\n' }, { "bad.sh", "#" .. " The same for others.\n" } }) do
    local text, is_ok = lint(table.unpack(case))
    lu.assertNil(is_ok, case[1])
    lu.assertStrContains(text, "a comment begins with")
  end
end

function TestWords.test_other_beginnings_of_comments_are_accepted()
  for _, case in ipairs({ { "good.lua", "-- Rows of a head.\n-" .. "- What follows goes on in a second line.\n" },
    { "good.c", "/* Offsets, in bytes.\n * Of every head one. */\n" } }) do
    local text, is_ok = lint(table.unpack(case))
    lu.assertTrue(is_ok, text)
  end
end

function TestWords.test_messages_of_c_name_a_file_or_field()
  local fail = 'lh_status f(lh_error *error) {\n    return lh_fail(error, LH_ERR_%s, %s);\n}\n'
  for text, is_fine in pairs({ ['"the value is wrong"'] = false, ['"two lines\\n"\n  "of one", n'] = false,
    ['"%s: is wrong", path'] = true, ['"no " PRId64 "\\n" "see --data", n'] = true,
    ['"task.data: is wrong"'] = true }) do
    local output, is_ok = lint("message.c", fail:format("INPUT", text))
    lu.assertEquals(is_ok or false, is_fine, text)
    lu.assertEquals(output:find("message.c:2: a message names no file", 1, true) == nil, is_fine, output)
  end
  lu.assertTrue(select(2, lint("message.c", fail:format("ENVIRONMENT", '"no memory"'))))
end

function TestWords.test_long_files_are_reported()
  local text, is_ok = lint("long.lua", ("local _ = 1\n"):rep(451))
  lu.assertNil(is_ok)
  lu.assertStrContains(text, "451 lines, expected at most 450")
end

support.run()
