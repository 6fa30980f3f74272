-- Cells of a study: their runs, rates and scores; the demo's conclusion; counts and durations in words.

local support = dofile("tests/lua/support.lua")

local cells = require("lab.study.read.cells")
local demo = require("lab.study.demo")
local entries = require("lab.study.report.tables.table_entries")
local lu = require("luaunit")
local reports = require("reports")
local runs = require("lab.study.read.runs")
local wording = require("base.wording")

local write_run, make_scored_lines, make_study, SCORES = reports.write_run, reports.make_scored_lines,
  reports.make_study, reports.SCORES

TestCells = {}

function TestCells.test_summary_has_the_best_rate_and_its_mean()
  local summary = make_study("summary", SCORES).cells[1].summary
  lu.assertEquals({ summary.requested, summary.evaluated, summary.best_rate.rate }, { 6, 6, 0.1 })
  lu.assertAlmostEquals(summary.best_score, 60, 1e-9)
  lu.assertAlmostEquals(summary.best_rate.mean, 52, 1e-9)
  lu.assertAlmostEquals(summary.best_rate.sd, 2, 1e-9)
  lu.assertAlmostEquals(summary.median, 51, 1e-9)
  lu.assertAlmostEquals(summary.lower, 45.5, 1e-9)
  lu.assertAlmostEquals(summary.upper, 53.5, 1e-9)
  lu.assertEquals(summary.generalising_share, 0)
  lu.assertEquals({ summary.hours.mean, summary.hours.count }, { 2, 6 })
  lu.assertEquals(summary.differences, {})
end

function TestCells.test_missing_and_failed_runs()
  local study = make_study("missing", SCORES)
  local summary = study.cells[3].summary
  lu.assertEquals({ summary.requested, summary.evaluated, summary.states },
    { 6, 1, { evaluated = 1, failed = 1, missing = 4 } })
  lu.assertNil(summary.best_rate.sd)
  lu.assertEquals(entries.describe_missing_runs(study.cells[3]), "1 of 6 runs: 4 missing, 1 failed")
  local empty_summary = study.cells[4].summary
  lu.assertNil(empty_summary.max)
  lu.assertNil(empty_summary.best)
  lu.assertEquals(entries.describe_missing_runs(study.cells[4]), "0 of 6 runs: 6 missing")
end

function TestCells.test_runs_that_should_be_equal_are_flagged()
  local study = make_study("flags", SCORES)
  local dir = study.cells[1].runs[1].dir
  write_run("flags", "even_pairs_rope", 0, 0.1,
    { exit = 0, eval = make_scored_lines(50), facts = { compiler = "clang 14" } })
  study.cells[1].runs[1] = runs.read(dir)
  local reread_study = cells.read_folder(dir:match("^(.*)/[^/]*/[^/]*/[^/]*$"))
  lu.assertEquals(reread_study.cells[3].key, { task = "bucket_sort", encoding = "even_pairs_rope" })
  lu.assertEquals(reread_study.cells[3].summary.differences, { "compiler: clang 14; gcc 12" })
end

-- Writes runs on files of examples, and returns the study of their cells.
--   name    name of the folder of all these runs
--   list    for each run { id, name of the task or nil, plan digest or nil }
local function read_file_runs(name, list)
  local dir
  for i, item in ipairs(list) do
    local spec = reports.make_spec("bucket_sort")
    spec.task = { data = "train.jsonl", name = item[2] }
    dir = write_run(name, item[1], i, 0.1,
      { exit = 0, eval = make_scored_lines(50), digest = item[3], facts = { spec = spec } })
  end
  return cells.read_folder(dir:match("^(.*)/[^/]*/[^/]*/[^/]*$"))
end

-- A task on a file is called by its `name`; without one, it is called by its spec's name, not by the file's name.
function TestCells.test_tasks_on_files_have_names()
  local study = read_file_runs("files", { { "cogs_rope" }, { "scan_rope" } })
  lu.assertEquals(study.axes, { { name = "task", values = { "cogs_rope", "scan_rope" } } })
  lu.assertEquals({ study.cells[1].key, study.title }, { { task = "cogs_rope" }, "Runs" })
  study = read_file_runs("named", { { "cogs_rope", "cogs" }, { "scan_alibi", "scan" }, { "scan_rope", "scan" } })
  lu.assertEquals(study.axes, { { name = "task", values = { "cogs", "scan" } },
    { name = "encoding", values = { "rope", "alibi" } } })
  lu.assertEquals(study.cells[3].key, { task = "scan", encoding = "rope" })
  study = read_file_runs("one_name", { { "first", "scan" }, { "second", "scan" } })
  lu.assertEquals({ study.title, study.axes[2].values }, { "Runs of scan", { "first", "second" } })
end

-- Two encodings are separate values of the axis even if the ids of their runs are equal, and even if other runs have
-- named encodings.
function TestCells.test_tasks_on_files_next_to_others()
  local study = read_file_runs("digests", { { "scan_rope" }, { "scan_rope", nil, "abcdef0123456789" } })
  lu.assertEquals({ study.axes[1].values, study.axes[2].values }, { { "scan_rope" }, { "scan_rope (012345)",
    "scan_rope (abcdef)" } })
  write_run("beside", "bucket_sort_rope", 7, 0.1, { exit = 0, eval = make_scored_lines(50) })
  study = read_file_runs("beside", { { "scan_rope" } })
  lu.assertEquals({ study.axes[1].values, study.axes[2].values }, { { "bucket_sort", "scan_rope" },
    { "rope", "scan_rope" } })
end

-- A task on a file may have the name of a built-in task, and has none of the built-in task's properties.
function TestCells.test_a_task_name_is_not_a_kind()
  local study = read_file_runs("kinds", { { "mine", "bucket_sort" } })
  lu.assertEquals({ study.cells[1].key.task, study.cells[1].task_kind }, { "bucket_sort", nil })
end

TestDemo = {}

-- Returns the demo's conclusion.
--   accuracy_within    accuracy at length 40, a training length
--   accuracy_beyond    accuracy at length 50, beyond training
--   loss               loss at length 50
local function conclude(accuracy_within, accuracy_beyond, loss)
  local trained_runs = {
    { points = { { 40, accuracy_within, 0.5 }, { 50, accuracy_beyond, loss } } },
    { plan = { attentions = { { positions = { bound = 2048 } } } } } }
  return demo.format_conclusion(trained_runs, { chance = 0.2, baseline = 0.2369 }, 5, 20)
end

-- "Below chance" and "overconfident" are different conclusions, and neither is used if nothing was learned.
function TestDemo.test_conclusions_of_the_demo()
  local text = conclude(0.9, 0.15, 6)
  lu.assertStrContains(text, "its loss is 6.00 nats per token, although equal probabilities of all 5 symbols would "
    .. "give ln 5 = 1.61.")
  lu.assertStrContains(text, "Its accuracy, 15.0%, is below chance (20%).")
  lu.assertStrContains(text, "sorted samples from 0 to 2047")
  lu.assertNotStrContains(conclude(0.9, 0.25, 6), "below chance")
  lu.assertNotStrContains(conclude(0.9, 0.15, 1.5), "overconfident")
  lu.assertEquals(conclude(0.25, 0.19, 1.7), "After 20 steps the plain model predicts 25.0% of the tokens correctly "
    .. "at training lengths, the majority baseline 23.7%:\nit has not learned to sort yet, so longer sequences show "
    .. "nothing. More steps would show more.")
end

TestWording = {}

function TestWording.test_counts_and_durations()
  lu.assertEquals({ wording.count(1, "run"), wording.count(0, "run"), wording.count(2, "run") },
    { "1 run", "0 runs", "2 runs" })
  local texts = {}
  for i, seconds in ipairs({ 0, 0.02, 2.52, 9, 12.4, 59.6, 190, 3900, 864000, -1 }) do
    texts[i] = wording.format_duration(seconds)
  end
  lu.assertEquals(texts, { "0 s", "under 0.1 s", "2.5 s", "9 s", "12 s", "1 min 00 s", "3 min 10 s", "1 h 05 min",
    "240 h", "?" })
  lu.assertEquals({ entries.choose_time_unit({ 2, 80 }) }, { "minutes", 60 })
  lu.assertEquals({ entries.choose_time_unit({ 2 }) }, { "seconds", 1 })
  lu.assertEquals({ entries.choose_time_unit({ 2, 3600 }) }, { "hours", 3600 })
end

support.run()
