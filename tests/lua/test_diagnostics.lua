-- generator/base/diagnostics.lua: form, order and number of errors; suggestions of similar names.

local support = dofile("tests/lua/support.lua")
local diagnostics = require("base.diagnostics")
local load_module = require("spec.reading.load")
local lu = require("luaunit")
local similar_names = require("base.similar_names")

TestDiagnostics = {}

function TestDiagnostics.test_text_without_errors_is_empty()
  lu.assertEquals(diagnostics.new():text(), "")
end

function TestDiagnostics.test_text_of_a_full_record_has_every_part()
  local d = diagnostics.new()
  d:add_source("a.lua", "one\n  two = 3,\nfour")
  d:add({ path = "a.lua", line = 2, col = 3, field = "two", what = "3 is odd", expected = "an even integer",
    hint = "4 is the nearest", notes = { { path = "a.lua", line = 3, col = 1, what = "four is set here" } } })
  lu.assertEquals(d:text(), table.concat({
    "a.lua:2:3: error: two: 3 is odd",
    "    2 |   two = 3,",
    "      |   ^",
    "  a.lua:3:1: note: four is set here",
    "    3 | four",
    "      | ^",
    "  expected: an even integer",
    "  hint: 4 is the nearest",
    "1 error; nothing was written",
    "",
  }, "\n"))
end

-- The list has the order of the text. It contains hints, including hints that a function makes.
function TestDiagnostics.test_list_has_the_same_diagnostics_as_data()
  local d = diagnostics.new()
  d:add_source("a.lua", "one\ntwo")
  d:add({ path = "a.lua", line = 2, col = 3, field = "two", what = "odd", expected = "even",
    hint = function() return "made" end,
    notes = { { at = { path = "a.lua", line = 1, col = 1 }, what = "set here" } } })
  d:add({ at = { set = "--set a=1" }, what = "first" })
  lu.assertEquals(d:list(), { { set = "--set a=1", what = "first" },
    { path = "a.lua", line = 2, col = 3, field = "two", what = "odd", expected = "even", hint = "made",
      notes = { { path = "a.lua", line = 1, what = "set here" } } } })
end

function TestDiagnostics.test_the_text_and_the_list_have_the_path_of_a_loaded_file()
  local path = support.write("deep/probe.lua", "return 1")
  local d = diagnostics.new()
  lu.assertNil(load_module.load(path, { root = ".", diagnostics = d }))
  lu.assertStrContains(d:text(), path .. ":1:1: error: the file returns 1")
  lu.assertEquals(d:list()[1].path, path)
  support.clean()
end

function TestDiagnostics.test_text_is_sorted_by_file_then_position()
  local d = diagnostics.new()
  d:add_source("main.lua", "x\ny")
  d:add_source("base.lua", "z")
  d:add({ path = "base.lua", line = 1, col = 1, what = "third" })
  d:add({ path = "main.lua", line = 2, col = 1, what = "second" })
  d:add({ path = "main.lua", line = 1, col = 1, what = "first" })
  local text = d:text()
  lu.assertTrue(text:find("first") < text:find("second"))
  lu.assertTrue(text:find("second") < text:find("third"))
end

function TestDiagnostics.test_text_stops_after_twenty_diagnostics()
  local d = diagnostics.new()
  for i = 1, 23 do
    d:add({ path = "a.lua", line = i, col = 1, what = "wrong" })
  end
  local _, shown = d:text():gsub("error: wrong", "")
  lu.assertEquals(shown, 20)
  lu.assertStrContains(d:text(), "\n23 errors, 3 more not shown; nothing was written\n")
end

function TestDiagnostics.test_text_without_position_or_column_omits_them()
  local d = diagnostics.new()
  d:add({ at = { set = "--set a=1" }, field = "a", what = "wrong" })
  d:add({ path = "task.c", line = 3, what = "wrong" })
  d:add({ what = "nowhere" })
  lu.assertStrContains(d:text(), "--set a=1: error: a: wrong\n")
  lu.assertStrContains(d:text(), "task.c:3: error: wrong\n")
  lu.assertStrContains(d:text(), "error: nowhere\n")
end

function TestDiagnostics.test_caret_follows_tabs_and_wide_characters()
  local d = diagnostics.new()
  d:add_source("a.lua", "\tx = 1\n\"é\" y")
  d:add({ path = "a.lua", line = 1, col = 2, what = "tab" })
  d:add({ path = "a.lua", line = 2, col = 6, what = "wide" })
  lu.assertStrContains(d:text(), "      | \t^\n")
  lu.assertStrContains(d:text(), "      |     ^\n")
end

function TestDiagnostics.test_long_lines_are_cut_around_the_caret()
  local d = diagnostics.new()
  d:add_source("a.lua", ("a"):rep(500) .. "X" .. ("b"):rep(500))
  d:add({ path = "a.lua", line = 1, col = 501, what = "far" })
  local source, caret = d:text():match("1 | (%C*)\n      | ( *)%^")
  lu.assertTrue(#source < 200)
  lu.assertEquals(source:sub(#caret + 1, #caret + 1), "X")
end

function TestDiagnostics.test_the_nearest_name_needs_the_fewest_edits()
  local names = { "sinusoid", "learned", "rope", "none" }
  lu.assertEquals(similar_names.find("sinusiod", names), "sinusoid")
  lu.assertEquals(similar_names.find("lerned", names), "learned")
  lu.assertEquals(similar_names.find("rop", names), "rope")
  lu.assertNil(similar_names.find("alibi", names))
  lu.assertNil(similar_names.find(("x"):rep(1000), names))
end

function TestDiagnostics.test_show_quotes_strings_and_writes_numbers_with_the_fewest_digits()
  lu.assertEquals(diagnostics.show('a"b\n'), '"a\\"b\\10"')
  lu.assertEquals(diagnostics.show(0.1), "0.1")
  lu.assertEquals(diagnostics.show(1e-8), "1e-8")
  lu.assertEquals(diagnostics.show(0.1 + 0.2), "0.30000000000000004")
  lu.assertEquals(diagnostics.show(2e6), "2000000")
end

support.run()
