-- What can be said of a build without compiling: annotated messages, freshness, quoting.

local support = dofile("tests/lua/support.lua")

local build = require("build")
local lu = require("luaunit")
local shell = require("shell")

local FILES = {
  { path = "step.c", text = "", map = {
    { { "cpu/step.c.tpl", 7 } },
    { { "parts/a.tpl", 2 }, { "cpu/step.c.tpl", 9 } },
  } },
  { path = "plan.lua", text = "", map = {} },
}

TestAnnotate = {}

function TestAnnotate.test_places_in_generated_files_name_their_template()
  local log = table.concat({
    "In file included from /b/x.partial1/src/step.c:1:",
    "/b/x.partial1/src/step.c:2:5: error: 'q' undeclared",
    "    2 | q = 1;",
    "kernels/cpu/adam.h:2:1: note: here",
    "/b/x.partial1/src/step.c:99:5: error: past the end",
  }, "\n")
  lu.assertEquals(build.annotate(log, "/b/x.partial1/src", FILES, "x"), table.concat({
    "In file included from x/step.c:1: [templates/cpu/step.c.tpl:7]",
    "x/step.c:2:5: error: 'q' undeclared [templates/parts/a.tpl:2]",
    "    2 | q = 1;",
    "kernels/cpu/adam.h:2:1: note: here",
    "x/step.c:99:5: error: past the end",
    "",
  }, "\n"))
end

-- A copy goes by its original's name, and has no template line.
function TestAnnotate.test_a_copy_goes_by_its_original()
  local files = { { path = "task.c", original = "examples/own.c", map = {} } }
  local text = "build/x.partial1/src/task.c:14:9: error: 'y' undeclared\n   14 |     y = 1;\n"
  lu.assertEquals(build.annotate(text, "build/x.partial1/src", files, "x"),
    "examples/own.c:14:9: error: 'y' undeclared\n   14 |     y = 1;\n")
end

TestFresh = {}

function TestFresh.test_stamp_and_levels_decide()
  local dir = support.write("fresh/trainer", ""):match("^(.*)/")
  support.write("fresh/stamp", "0123456789abcdef dynamic x86-64 x86-64-v3\n")
  lu.assertTrue(build.fresh(dir, "0123456789abcdef", "x86-64-v3"))
  lu.assertTrue(build.fresh(dir, "0123456789abcdef", "x86-64 x86-64-v3"))
  lu.assertFalse(build.fresh(dir, "0123456789abcdef", "x86-64-v4"))
  lu.assertFalse(build.fresh(dir, "fedcba9876543210", "x86-64"))
  lu.assertFalse(build.fresh("/nonexistent", "0123456789abcdef", "x86-64"))
end

function TestFresh.test_linking_decides_where_it_is_asked_for()
  local dir = support.write("linked/trainer", ""):match("^(.*)/")
  support.write("linked/stamp", "0123456789abcdef static x86-64\n")
  lu.assertTrue(build.fresh(dir, "0123456789abcdef", "x86-64"))
  lu.assertTrue(build.fresh(dir, "0123456789abcdef", "x86-64", "static"))
  lu.assertFalse(build.fresh(dir, "0123456789abcdef", "x86-64", "dynamic"))
  support.write("linked/stamp", "0123456789abcdef x86-64 x86-64-v3\n") -- as stamps were before they said it
  lu.assertFalse(build.fresh(dir, "0123456789abcdef", "x86-64"))
end

TestShell = {}

function TestShell.test_words_survive_quoting()
  local words = { "a b", "it's", "$HOME", "`x`", "", "*", "a;b", "\\" }
  local text, code = shell.capture({ "printf", "%s|", table.unpack(words) })
  lu.assertEquals(text, table.concat(words, "|") .. "|")
  lu.assertEquals(code, 0)
end

function TestShell.test_exit_codes_and_signals()
  lu.assertEquals(shell.run({ "sh", "-c", "exit 75" }), 75)
  lu.assertEquals(shell.run({ "sh", "-c", "kill -TERM $$" }), 143)
end

support.run()
