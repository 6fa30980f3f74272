-- The passes that confidence chooses from the evaluations of a model with loops, and their rows in reports.

local support = dofile("tests/lua/support.lua")

local cells = require("lab.study.read.cells")
local held_out = require("lab.study.report.tables.held_out")
local lists = require("base.lists")
local lu = require("luaunit")
local reports = require("reports")
local runs = require("lab.study.read.runs")
local stopping = require("lab.study.read.stopping")

TestStopping = {}

-- A line of eval.jsonl for a length and a number of passes. more_keys: a comma and the text of further fields.
local function make_line(length, passes, accuracy, more_keys)
  return reports.make_eval_line(100, "beyond", ('"length":%d,"passes":%d'):format(length, passes), accuracy, more_keys)
end

-- Writes a run with these lines; returns its folder.
local function write_passes(name, ...)
  local facts = { spec = reports.make_spec("reverse_string") }
  facts.spec.model.loops = { times = 2, inject = true, start = "embedding", norm = "outside" }
  return reports.write_run(name, "rr", 1, 0.1, { exit = 0, facts = facts, eval = table.concat({ ... }) })
end

local function read_passes(name, ...)
  return runs.read(write_passes(name, ...))
end

-- Confidence chooses, for each length, the number of passes with the least uncertainty. It does not read accuracies.
function TestStopping.test_confidence_chooses_passes_by_length()
  local function make_uncertain(length, passes, accuracy, uncertainty)
    return make_line(length, passes, accuracy, (',"uncertainty":%g'):format(uncertainty))
  end
  local run = read_passes("confident", make_uncertain(41, 2, 0.5, 0.25), make_uncertain(42, 2, 1, 0.75),
    make_uncertain(41, 3, 1, 0.5), make_uncertain(42, 3, 0.25, 0.5))
  local stopped = stopping.choose_by_confidence(run, "test")
  lu.assertEquals({ stopped.lengths, stopped.accuracy }, { { 41, 42 }, { 0.5, 0.25 } })
  lu.assertEquals(runs.compute_mean(stopped), 37.5)
  lu.assertNil(stopping.choose_by_confidence(read_passes("single", make_uncertain(41, 2, 0.5, 0.25)), "test"))
  lu.assertNil(stopping.choose_by_confidence(read_passes("unknown", make_uncertain(41, 2, 0.5, 0.25),
    make_line(41, 3, 1)), "test"))
end

-- The chosen evaluation of a generative model has every measure that the evaluations at fixed numbers of passes have.
function TestStopping.test_confidence_keeps_teacher_forced_measures()
  local function make_decoded(passes, teacher_forced, uncertainty)
    return make_line(41, passes, 0.25, (',"decoding":"teacher_forced","accuracy_teacher_forced":%g,"uncertainty":%g')
      :format(teacher_forced, uncertainty))
  end
  local run = read_passes("confident_decoder", make_decoded(2, 0.5, 0.25), make_decoded(3, 0.75, 0.125))
  local stopped = stopping.choose_by_confidence(run, "test")
  lu.assertEquals({ stopped.accuracy_teacher_forced, stopped.loss }, { { 0.75 }, { "0.5" } })
  for _, value in ipairs({ 2, 3 }) do
    local level = runs.get_level_evaluation(run, "passes", value, "test")
    level.is_weighted, level.totals, level.uncounted = true, { 7 }, { false }
  end
  stopped = stopping.choose_by_confidence(run, "test")
  lu.assertEquals({ stopped.is_weighted, stopped.totals, stopped.uncounted }, { true, { 7 }, { false } })
end

-- A line with results of single examples. uncertainty, correct, counted: lists as texts, a number for each example.
local function make_listed(length, passes, uncertainty, correct, counted)
  return make_line(length, passes, 0.125, (',"by_example":{"uncertainty":[%s],"correct":[%s],"counted":[%s]}'):format(
    uncertainty, correct, counted))
end

local TWO_PASSES = make_listed(41, 2, "0.5,0.25,1,0.125", "2,4,4,0", "4,4,4,0")
local THREE_PASSES = make_listed(41, 3, "0.25,0.5,1,0", "4,0,0,0", "4,4,4,0")

-- For each example, the number of passes with the least uncertainty is chosen; of equally uncertain ones, the smallest.
-- Labels are not read. Of several lines of a condition, the last one counts.
function TestStopping.test_confidence_chooses_passes_by_example()
  local run = read_passes("confident_examples", make_listed(41, 2, "0,0,0,0", "0,0,0,0", "4,4,4,0"),
    make_listed(42, 2, "0.5,0.25,1,0.125", "2,4,4,0", "4,4,4,0"), THREE_PASSES,
    make_listed(42, 3, "0.5,0.5,0.5,0", "4,4,1,0", "4,4,4,0"), TWO_PASSES)
  local stopped = stopping.choose_by_example(run, "test")
  lu.assertEquals({ stopped.lengths, stopped.counts, stopped.loss }, { { 41, 42 }, { 50, 50 } })
  lu.assertEquals({ stopped.accuracy, stopped.exact_match }, { { 12 / 12, 7 / 12 }, { 3 / 3, 1 / 3 } })
  lu.assertEquals(run.notes, {})
end

function TestStopping.test_lines_without_comparable_examples()
  lu.assertNil(stopping.choose_by_example(read_passes("single_listed", TWO_PASSES), "test"))
  for i, line in ipairs({ make_listed(41, 3, "0.5,0.25", "2,4", "4,4"), make_line(41, 3, 1) }) do
    local run = read_passes("incomparable" .. i, TWO_PASSES, line)
    lu.assertNil(stopping.choose_by_example(run, "test"))
    lu.assertEquals(run.notes, {})
  end
  local run = read_passes("damaged_examples", TWO_PASSES, make_listed(41, 3, "0.5,0.25", "2", "4,4"))
  lu.assertNil(stopping.choose_by_example(run, "test"))
  lu.assertStrContains(run.notes[1], "eval.jsonl: length 41: by_example")
  lu.assertStrContains(run.notes[1], "lists of different lengths")
end

-- The table has a row of confidence per example if the metric is a share. For the loss it has no such row, since lines
-- have no losses of single examples.
function TestStopping.test_row_of_a_report()
  local root = reports.get_root(write_passes("listed_report", TWO_PASSES, THREE_PASSES))
  local function list_rows(metric)
    local study = cells.read_folder(root)
    study.scored.metric = metric
    local tables = held_out.make_tables(study)
    return lists.map(tables[1].rows, function(row) return { row.title, row.cells[1].texts[1] } end)
  end
  lu.assertEquals(list_rows("accuracy"), { { "2", "12.5" }, { "3", "12.5" }, { "confidence per example", "100.0" } })
  lu.assertEquals(#list_rows("loss"), 2)
end

support.run()
