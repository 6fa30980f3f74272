-- Tables of a report: the reach of runs (the greatest length at which a run meets a criterion), and the results of the
-- best checkpoint.

local support = dofile("tests/lua/support.lua")

local checkpoints = require("lab.study.report.tables.checkpoints")
local lists = require("base.lists")
local lu = require("luaunit")
local reach = require("lab.study.report.tables.reach")
local reports = require("reports")
local runs = require("lab.study.read.runs")
local cells = require("lab.study.read.cells")
local statistics = require("lab.study.read.statistics")

TestReach = {}

local BY_ACCURACY = { metric = "accuracy", above = 90 }

local function write_run(root, seed, lines, facts)
  return reports.write_run(root, "bucket_sort_none", seed, 0.1, { exit = 0, facts = facts,
    eval = table.concat(lists.map(lines, function(line) return reports.make_eval_line(table.unpack(line)) end)) })
end

-- The length 20 is met, 25 is missed, and 30 is met again: the results need not fall with the length.
function TestReach.test_reach_is_the_greatest_length_that_meets_the_criterion()
  local run = runs.read(write_run("reach", 0, { { 100, "in_distribution", 5, 1 }, { 100, "beyond", 20, 0.95 },
    { 100, "beyond", 25, 0.5 }, { 100, "beyond", 30, 0.91 }, { 100, "beyond", 40, 0.9 } }))
  lu.assertEquals(reach.compute(run, BY_ACCURACY), { reach = 30, bound = 30, first = 5, last = 40 })
  lu.assertEquals(reach.compute(run, { metric = "accuracy", above = 100 }).reach, 0)
  lu.assertEquals(reach.compute(run, { metric = "accuracy", above = 40 }).reach, 40)
end

function TestReach.test_intervals_of_exact_matches_bound_the_reach()
  local run = runs.read(write_run("bound", 0, {
    { 100, "beyond", 20, 1, ',"exact_match_low":0.1,"exact_match_high":0.4' },
    { 100, "beyond", 30, 1, ',"exact_match_low":0.1,"exact_match_high":0.27' } }))
  lu.assertEquals(reach.compute(run, { metric = "exact_match", above = 30 }),
    { reach = 0, bound = 20, first = 20, last = 30 })
end

function TestReach.test_the_table_has_the_median_and_the_share_of_seeds()
  local root
  for seed, accuracy in ipairs({ 0.95, 0.5, 0.92 }) do
    root = reports.get_root(write_run("table", seed, { { 100, "beyond", 20, 1 }, { 100, "beyond", 30, accuracy } }))
  end
  local study = cells.read_folder(root)
  study.scored.generalises = BY_ACCURACY
  local contents = reach.make_cells_table(study)
  local texts = lists.map(contents.rows[1].cells, function(cell) return cell.texts[1] end)
  lu.assertEquals({ texts[1], texts[2], texts[3] }, { "30 or more", "20 to 30 or more", "30 or more" })
  lu.assertNil(reach.make_cells_table({ scored = study.scored, cells = {} }))
end

function TestReach.test_wilson_intervals()
  local low, high = statistics.compute_wilson(0, 2)
  lu.assertEquals(low, 0)
  lu.assertAlmostEquals(high, 0.657620, 1e-6)
  low, high = statistics.compute_wilson(0.7, 10)
  lu.assertAlmostEquals(low, 0.396778, 1e-6)
  lu.assertAlmostEquals(high, 0.892209, 1e-6)
end

local BEST = { best = { step = 60, metric = "accuracy", score = 0.75 }, step = 100 }

function TestReach.test_the_best_checkpoint_has_results_of_its_own()
  local dir = write_run("best", 0, { { 20, "during", 20, 0.2 }, { 60, "during", 20, 0.6 }, { 100, "during", 20, 0.4 },
    { 100, "beyond", 20, 0.4 }, { 60, "beyond", 20, 0.7 } }, BEST)
  local run = runs.read(dir)
  lu.assertEquals(runs.get_score(run, "test", "accuracy"), 40)
  lu.assertEquals(runs.get_best_score(run, "test", "accuracy"), 70)
  local study = cells.read_folder(reports.get_root(dir), "accuracy")
  local contents = checkpoints.make_cells_table(study)
  local texts = lists.map(contents.rows[1].cells, function(cell) return cell.texts[1] end)
  lu.assertEquals({ table.unpack(texts, 1, 5) }, { "40.0", "70.0", "40.0", "60", "100" })
end

function TestReach.test_runs_without_a_best_checkpoint_have_no_table()
  local dir = write_run("plain", 0, { { 100, "beyond", 20, 0.4 } })
  lu.assertNil(checkpoints.make_cells_table(cells.read_folder(reports.get_root(dir), "accuracy")))
end

support.run()
