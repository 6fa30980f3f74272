-- Cells of a study: their runs, rates and scores.

local support = dofile("tests/lua/support.lua")

local cells = require("cells")
local lu = require("luaunit")
local reports = require("reports")
local runs = require("runs")
local views = require("views")

local write_run, scored, make_study, SCORES = reports.write_run, reports.scored, reports.make_study, reports.SCORES

TestCells = {}

function TestCells.test_summary()
  local s = make_study("summary", SCORES).cells[1].summary
  lu.assertEquals({ s.asked, s.evaluated, s.best.rate }, { 6, 6, 0.1 })
  lu.assertAlmostEquals(s.max, 60, 1e-9)
  lu.assertAlmostEquals(s.best.mean, 52, 1e-9)
  lu.assertAlmostEquals(s.best.sd, 2, 1e-9)
  lu.assertAlmostEquals(s.median, 51, 1e-9)
  lu.assertAlmostEquals(s.lower, 45.5, 1e-9)
  lu.assertAlmostEquals(s.upper, 53.5, 1e-9)
  lu.assertEquals(s.good, 0)
  lu.assertEquals({ s.hours.mean, s.hours.count }, { 2, 6 })
  lu.assertEquals(s.differences, {})
end

function TestCells.test_missing_and_failed_runs()
  local study = make_study("missing", SCORES)
  local s = study.cells[3].summary
  lu.assertEquals({ s.asked, s.evaluated, s.states }, { 6, 1, { evaluated = 1, failed = 1, missing = 4 } })
  lu.assertNil(s.best.sd)
  lu.assertEquals(views.count_text(study.cells[3]), "1 of 6 runs: 4 missing, 1 failed")
  local empty = study.cells[4].summary
  lu.assertNil(empty.max)
  lu.assertNil(empty.best)
  lu.assertEquals(views.count_text(study.cells[4]), "0 of 6 runs: 6 missing")
end

function TestCells.test_runs_that_should_be_alike_are_flagged()
  local study = make_study("flags", SCORES)
  local dir = study.cells[1].runs[1].dir
  write_run("flags", "even_pairs_rope", 0, 0.1, { exit = 0, eval = scored(50), facts = { compiler = "clang 14" } })
  study.cells[1].runs[1] = runs.read(dir)
  local again = cells.of_folder(dir:match("^(.*)/[^/]*/[^/]*/[^/]*$"))
  lu.assertEquals(again.cells[3].key, { task = "bucket_sort", encoding = "even_pairs_rope" })
  lu.assertEquals(again.cells[3].summary.differences, { "compiler: clang 14; gcc 12" })
end

support.run()
