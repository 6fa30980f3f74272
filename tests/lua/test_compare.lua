-- Comparison of two runs.

local support = dofile("tests/lua/support.lua")

local compare = require("lab.study.report.compare")
local lists = require("base.lists")
local lu = require("luaunit")
local reports = require("reports")
local stop = require("lab.stop")

local make_spec, write_run, make_scored_lines = reports.make_spec, reports.write_run, reports.make_scored_lines

TestCompare = {}

-- Returns the text of a metrics.jsonl that logs these losses at the steps 10, 20, ...
local function make_metrics(losses, steps_per_second)
  local lines = {}
  for i, loss in ipairs(losses) do
    lines[i] = ('{"step":%d,"loss":%g,"steps_per_second":%g,"seconds":%g}\n'):format(10 * i, loss, steps_per_second,
      i / steps_per_second)
  end
  return table.concat(lines)
end

function TestCompare.test_differences_and_the_first_step_that_differs()
  local spec = make_spec("bucket_sort")
  spec.model.layers = 3
  local a = write_run("two", "run_a", 1, 0.1,
    { exit = 0, eval = make_scored_lines(50), metrics = make_metrics({ 3, 2, 1 }, 10) })
  local b = write_run("two", "run_b", 1, 0.1,
    { exit = 0, eval = make_scored_lines(60), metrics = make_metrics({ 3, 2, 1.5 }, 20),
    facts = { spec = spec, id = "run_a" } })
  local result = assert(compare.compare(a, b .. "/run.json"))
  lu.assertEquals(result.differences, { { field = "spec: model.layers", a = "2", b = "3" } })
  lu.assertEquals(result.first_difference, "The first logged step that differs is 30: loss 1 and 1.5.")
  local text = compare.format_result(result)
  lu.assertStrContains(text, "30    1.0000  1.5000  +0.5000")
  lu.assertStrContains(text, "20      51.0  61.0  +10.0")
end

function TestCompare.test_other_training_data_are_a_difference()
  local folders = lists.map({ "aa", "bb" }, function(digest)
    return write_run("data", "run_" .. digest, 1, 0.1, { exit = 0, eval = make_scored_lines(50),
      facts = { id = "run_e", data = { train = "train.jsonl", train_sha256 = digest } } })
  end)
  lu.assertEquals(compare.compare(folders[1], folders[2]).differences,
    { { field = "data.train_sha256", a = "aa", b = "bb" } })
end

-- Four digits are shown if they distinguish the two values, otherwise nine.
function TestCompare.test_digits_of_the_first_difference()
  local function find_first(b)
    local runs = {}
    for i, loss in ipairs({ "0.40979325806673", b }) do
      runs[i] = write_run("digits" .. #b, "run" .. i, i, 0.1, { exit = 0, eval = make_scored_lines(50),
        metrics = ('{"step":10,"loss":%s}\n'):format(loss) })
    end
    return assert(compare.compare(runs[1], runs[2])).first_difference
  end
  lu.assertEquals(find_first("0.24606984702725"), "The first logged step that differs is 10: loss 0.4098 and 0.2461.")
  lu.assertEquals(find_first("0.40979"),
    "The first logged step that differs is 10: loss 0.409793258 and 0.40979.")
end

local function list_titles(result)
  return lists.map(result.pairs, function(pair) return pair.title end)
end

function TestCompare.test_one_metric_alone()
  local a = write_run("two", "run_d", 1, 0.1,
    { exit = 0, eval = make_scored_lines(50), metrics = make_metrics({ 3, 2 }, 10) })
  lu.assertEquals(list_titles(compare.compare(a, a)), { "Loss in training", "Accuracy by length, in percent" })
  lu.assertEquals(list_titles(compare.compare(a, a, "loss")), { "Loss in training", "Loss by length, in nats" })
  lu.assertEquals(list_titles(compare.compare(a, a, "exact_match")), { "Exact match by length, in percent" })
end

function TestCompare.test_the_same_run_twice()
  local a = write_run("two", "run_c", 1, 0.1,
    { exit = 0, eval = make_scored_lines(50), metrics = make_metrics({ 3, 2 }, 10) })
  local result = assert(compare.compare(a, a))
  lu.assertEquals(result.differences, {})
  lu.assertEquals(result.first_difference, "All 2 steps that both runs logged have the same numbers, except for times.")
  local code, message = stop.catch(compare.compare, a, a .. "/..")
  lu.assertEquals(code, 1)
  lu.assertStrContains(message, "is not a folder of a run")
  code, message = stop.catch(compare.compare, a, "LICENSE")
  lu.assertEquals(code, 1)
  lu.assertStrContains(message, "LICENSE is not a folder of a run")
end

support.run()
