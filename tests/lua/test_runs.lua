-- Run folders as trainers leave them, whole, torn and broken.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local reports = require("reports")
local runs = require("runs")

local eval_line, spec_of, write_run, scored = reports.eval_line, reports.spec_of, reports.write_run, reports.scored

TestRuns = {}

function TestRuns.test_score_is_the_mean_beyond_training_at_the_last_step()
  local text = eval_line(50, "test", 20, 0.1) .. eval_line(100, "during", 20, 0.3) .. eval_line(100, "during", 30, 0.5)
    .. eval_line(100, "train", 5, 1) .. eval_line(100, "test", 30, 0.5) .. eval_line(100, "test", 20, 0.75)
    .. eval_line(100, "test", 30, 0.625) .. eval_line(100, "test", 20, 0, ',"seed":7')
  local run = runs.read(write_run("score", "rr", 1, 0.1, { exit = 0, eval = text }))
  lu.assertEquals(run.state, "evaluated")
  lu.assertEquals(run.test.lengths, { 20, 30 })
  lu.assertEquals(run.test.accuracy, { 0.75, 0.625 })
  lu.assertEquals(run.train.accuracy, { 1.0 })
  lu.assertEquals(run.during, { { step = 100, accuracy = 0.4 } })
  lu.assertEquals(runs.score(run), 68.75)
  lu.assertEquals(run.notes, {})
end

-- The pattern for lines as the runtime writes them, and the JSON decoder for all others.
function TestRuns.test_both_ways_of_reading_agree()
  local fast, slow = {}, {}
  for i, accuracy in ipairs({ 0.5, 1, 0, 1e-05, 0.968585365853658536 }) do
    fast[i] = eval_line(100, "test", 20 + i, accuracy)
    slow[i] = fast[i]:gsub('"step":100,', ""):gsub("}\n$", ',"step":100}\n')
  end
  local a = runs.read(write_run("fast", "rr", 1, 0.1, { exit = 0, eval = table.concat(fast) }))
  local b = runs.read(write_run("slow", "rr", 1, 0.1, { exit = 0, eval = table.concat(slow) }))
  lu.assertEquals(#a.test.lengths, 5)
  a.dir, b.dir = nil, nil
  lu.assertEquals(a, b)
end

function TestRuns.test_states()
  local cases = {
    { "evaluated", { exit = 0, eval = scored(50) } },
    { "evaluated", { eval = scored(50) } },
    { "not evaluated", { exit = 0, eval = eval_line(100, "train", 5, 1) } },
    { "unfinished", { eval = eval_line(100, "test", 20, 1) } },
    { "unfinished", { exit = 75 } },
    { "failed", { exit = 1, eval = scored(50) } },
  }
  for i, case in ipairs(cases) do
    local run = runs.read(write_run("states", "rr", i, 0.1, case[2]))
    lu.assertEquals(run.state, case[1])
    lu.assertEquals(runs.score(run) ~= nil, case[1] == "evaluated")
  end
  lu.assertNil(runs.read("no/such/folder"))
end

function TestRuns.test_a_run_of_training_lengths_alone_is_scored_there()
  local spec = spec_of("bucket_sort")
  spec.train.lengths.last = 40
  local run = runs.read(write_run("within", "rr", 1, 0.1, { exit = 0, facts = { spec = spec },
    eval = eval_line(100, "train", 20, 0.5) .. eval_line(100, "train", 30, 0.25) }))
  lu.assertEquals({ run.state, run.within, run.test.split, runs.score(run) }, { "evaluated", true, "train", 37.5 })
end

function TestRuns.test_a_torn_line_is_skipped_and_told()
  local line = eval_line(100, "test", 20, 0.5)
  local run = runs.read(write_run("torn", "rr", 1, 0.1, { exit = 0, eval = line .. line:sub(1, 60) }))
  lu.assertEquals(run.test.accuracy, { 0.5 })
  lu.assertEquals(run.notes, { "eval.jsonl: line 2 is torn, skipped" })
end

function TestRuns.test_a_brace_in_a_string_of_the_spec()
  local spec = spec_of("bucket_sort")
  spec.source = "odd}name.lua"
  local run = runs.read(write_run("brace", "rr", 1, 0.1, { exit = 0, eval = scored(50), facts = { spec = spec } }))
  lu.assertEquals(run.facts.spec.source, "odd}name.lua")
  lu.assertEquals(run.facts.compiler, "gcc 12")
end

function TestRuns.test_clock()
  local dir = write_run("clock", "rr", 1, 0.1, { exit = 0,
    metrics = '{"step":10,"loss":1,"seconds":2.5}\n{"step":20,"loss":1,"seconds":5}\n{"step":30,"sec' })
  local run = runs.read(dir)
  lu.assertEquals(runs.clock(run), { { 10, 2.5 }, { 20, 5 } })
  lu.assertEquals(run.notes, { "metrics.jsonl: line 3 is torn, skipped" })
end

support.run()
