-- lab/study/run: the state and progress of runs, jobs, messages of failed runs, and rows of bench.

local support = dofile("tests/lua/support.lua")

local estimate = require("lab.study.run.estimate")
local failures = require("lab.study.run.failures")
local jobs = require("lab.study.run.jobs")
local json = require("dkjson")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local lu = require("luaunit")
local probes = require("probe_study")
local project = require("project").new(".")
local reports = require("reports")
local shell = require("base.shell")

local expand, write_small = probes.expand, probes.write_small

TestLedger = {}

local LINE = '{"step":%d,"split":"%s","by":{"length":%d},"examples":8,"draws":%d,"accuracy":0.5,"exact_match":0,'
  .. '"loss":1,"sd_over_draws":0%s}\n'

-- The text of run.json of the cell's first run. step, code: the run's last step and exit code, nil while it runs; kind:
-- of the model.
local function make_facts(cell, step, code, kind)
  local run, spec = cell.runs[1], reports.make_spec("bucket_sort")
  spec.model.kind = kind
  return json.encode({ id = cell.id, digest = cell.spec.plan.digest, seed = run.seed,
    learning_rate = run.learning_rate, spec = spec, step = step or json.null,
    exit = code or json.null }) .. "\n"
end

-- Writes files of the cell's first run; returns its state, the reason, and the run's folder.
local function read_state(cell, files)
  local run = "ledger/" .. cell.runs[1].dir .. "/"
  for name, text in pairs(files) do
    support.write(run .. name, text)
  end
  local dir = support.write(run .. "lock", ""):match("^(.*)/")
  local state, words = ledger.read_state(dir, ledger.derive_goal(cell), {})
  return state, words, dir
end

function TestLedger.test_a_run_is_done_if_nothing_is_missing()
  local cell = expand(write_small()).cells[2]
  local lines = ""
  for _, n in ipairs({ 3, 6, 9 }) do
    lines = lines .. LINE:format(70, "in_distribution", n, 2, "")
  end
  lu.assertEquals(read_state(cell, {}), "absent")
  lu.assertEquals(read_state(cell, { ["run.json"] = make_facts(cell, 70, 0), ["eval.jsonl"] = lines }), "done")
  for label, text in pairs({
    ["one missing"] = LINE:format(70, "in_distribution", 3, 2, "") .. LINE:format(70, "in_distribution", 6, 2, ""),
    ["of validation"] = lines:gsub("in_distribution", "validation"),
    ["of an earlier step"] = lines:gsub('"step":70', '"step":60'),
    ["of other examples"] = lines:gsub('"examples":8', '"examples":4'),
    ["torn"] = lines:sub(1, -3),
    ["of another seed"] = lines:gsub('"sd_over_draws":0', '"sd_over_draws":0,"seed":5'),
  }) do
    lu.assertEquals(read_state(cell, { ["eval.jsonl"] = text }), "to evaluate", label)
  end
  lu.assertEquals(read_state(cell, { ["eval.jsonl"] = lines, ["run.json"] = make_facts(cell, 60, 0) }), "to continue")
  lu.assertEquals(read_state(cell, { ["run.json"] = make_facts(cell, 80, 0) }), "trained further")
  lu.assertEquals(read_state(cell, { ["run.json"] = make_facts(cell, 80, 75) }), "trained further")
  lu.assertEquals(read_state(cell, { ["run.json"] = make_facts(cell, 70, 1) }), "failed")
  lu.assertEquals(read_state(cell, { ["run.json"] = make_facts(cell, 70, 75) }), "stopped")
  lu.assertEquals(read_state(cell, { ["run.json"] = make_facts(cell) }), "stopped")
end

local function read_state_and_words(cell, files)
  local state, words = read_state(cell, files)
  return { state, words }
end

-- A recurrent model gives all answers in one pass, so no decoding is requested.
function TestLedger.test_answers_of_recurrent_models()
  local recurrent = { "encoding={ kind = 'none' }", "model={ kind = 'recurrent', width = 16 }" }
  local cell = expand(write_small(), { set = recurrent }).cells[1]
  local lines = ""
  for _, n in ipairs({ 3, 6, 9 }) do
    lines = lines .. LINE:format(70, "in_distribution", n, 1, "")
  end
  local run = { ["run.json"] = make_facts(cell, 70, 0, "recurrent"), ["checkpoint.safetensors"] = "",
    ["eval.jsonl"] = lines }
  lu.assertEquals(read_state_and_words(cell, run), { "done" })
end

-- Greedy evaluations are requested for a decoder. A run with only teacher-forced evaluations and without a checkpoint
-- is done.
function TestLedger.test_answers_of_generative_models()
  local file = write_small()
  local cell = expand(file, { set = { "model.kind='decoder'" } }).cells[2]
  local forced_cell = expand(file, { set = { "model.kind='decoder'", "eval.decoding=teacher_forced" } }).cells[2]
  local lines, greedy = "", ""
  for _, n in ipairs({ 3, 6, 9 }) do
    local line = LINE:format(70, "in_distribution", n, 2, "")
    lines = lines .. line:gsub('"accuracy"', '"decoding":"teacher_forced","accuracy_teacher_forced"')
    greedy = greedy .. line:gsub('"accuracy"', '"decoding":"greedy","accuracy"')
  end
  local run = { ["run.json"] = make_facts(cell, 70, 0, "decoder"), ["checkpoint.safetensors"] = "" }
  run["eval.jsonl"] = lines
  lu.assertEquals(read_state_and_words(cell, run), { "to evaluate", "greedy decoding is requested" })
  lu.assertEquals(read_state_and_words(forced_cell, run), { "done" })
  run["eval.jsonl"] = lines .. greedy
  lu.assertEquals(read_state_and_words(cell, run), { "done" })
  run["eval.jsonl"] = greedy
  lu.assertEquals(read_state_and_words(forced_cell, run), { "to evaluate", "teacher-forced decoding is requested" })
  run["eval.jsonl"] = lines:match("^[^\n]*\n")
  lu.assertEquals(read_state_and_words(cell, run), { "to evaluate", "3 lengths are not evaluated as requested" })
  run["eval.jsonl"] = lines
  local _, words, dir = read_state(cell, run)
  lu.assertEquals(words, "greedy decoding is requested")
  os.remove(dir .. "/checkpoint.safetensors")
  lu.assertEquals({ ledger.read_state(dir, ledger.derive_goal(cell), {}) }, { "done",
    "greedy decoding is requested, but there is no checkpoint to evaluate" })
end

-- Training lengths end at 40; a model without random positions has one draw.
function TestLedger.test_requested_evaluations_by_length()
  local cell = expand(write_small(), { set = { "eval.lengths={ 39, 42 }" } }).cells[1]
  lu.assertEquals(ledger.derive_goal(cell).conditions, { ["in_distribution 39 8 1"] = true,
    ["in_distribution 40 8 1"] = true, ["beyond 41 8 1"] = true, ["beyond 42 8 1"] = true })
end

-- The validation stream is evaluated first and takes time, but a run without evaluations of the stream is done.
function TestLedger.test_validation_takes_time_but_is_not_required()
  local function derive_goal(examples)
    return ledger.derive_goal(expand(write_small(), { set = { "eval.validation.examples=" .. examples } }).cells[2])
  end
  local plain_goal, stream_goal = derive_goal(0), derive_goal(5)
  lu.assertEquals(stream_goal.conditions, plain_goal.conditions)
  local extra_work = stream_goal.eval_work[1] - plain_goal.eval_work[1]
  lu.assertTrue(extra_work > 0)
  lu.assertEquals(stream_goal.eval_work[3] - plain_goal.eval_work[3], extra_work)
  local cell = expand(write_small()).cells[2]
  local _, _, dir = read_state(cell, { ["metrics.jsonl"] = '{"step":70,"accuracy":0.75}\n',
    ["eval.jsonl"] = LINE:format(70, "validation", 9, 2, "") })
  lu.assertNil(ledger.read_progress(dir, ledger.derive_goal(cell)).evaluated)
end

function TestLedger.test_progress_is_counted_in_operations()
  local cell = expand(write_small()).cells[2]
  local goal = ledger.derive_goal(cell)
  local _, _, dir = read_state(cell,
    { ["metrics.jsonl"] = '{"step":35,"accuracy":0.75}\n{"step":7', ["eval.jsonl"] = "" })
  local later = ledger.read_progress(dir, goal)
  lu.assertEquals({ later.step, later.accuracy, later.work }, { 35, 0.75, goal.train_work / 2 })
  lu.assertEquals(goal.train_work, 70 * cell.spec.plan.flops_per_step)
  read_state(cell, { ["metrics.jsonl"] = '{"step":35,"accuracy_teacher_forced":0.5}\n', ["eval.jsonl"] = "" })
  lu.assertEquals(ledger.read_progress(dir, goal).accuracy, 0.5) -- the accuracy of a generative model
end

TestJobs = {}

-- A newline in a name does not begin a second command.
function TestJobs.test_commands_may_contain_any_names()
  local folder = support.write("jobs/x", ""):match("^(.*)/")
  local names, commands, codes = { "a\n: >b; exit", "c\\nd\\\\e", "f'g\\0101" }, {}, {}
  for i, name in ipairs(names) do
    commands[i] = shell.join({ "touch", folder .. "/" .. name })
  end
  local outcome = jobs.run(project, commands, 2, {
    start = function() end,
    tick = function() end,
    finish = function(i, status) codes[i] = status end,
  })
  lu.assertEquals({ outcome, codes }, { "done", { 0, 0, 0 } })
  for _, name in ipairs(names) do
    lu.assertEquals(lfs.attributes(folder .. "/" .. name, "mode"), "file", name)
  end
  lu.assertNil(lfs.attributes(folder .. "/b", "mode"))
end

TestFailures = {}

-- Messages of a trainer about three runs of a group, each with a warning and an error.
local WARNED, FAILED = {}, {}
for i, name in ipairs({ "rate 0.001, seed 9", "rate 0.001, seed 10", "rate 1e+06, seed 0" }) do
  WARNED[i] = "learning " .. name .. ": warning: step 1: the training may be diverging\n"
    .. "  there is no checkpoint yet\n  training continues; hint: a lower --learning-rate\n"
  FAILED[i] = "learning " .. name .. ": error: step 2: the loss is nan\n  task length 3\n  parameters: all zero\n"
    .. "  gradient: all zero\n  there is no checkpoint yet\n  hint: a lower --learning-rate\n"
end
local CLOSING = "trainer: error: 3 of 3 runs failed\n"
local PROGRESS = "[###.................] 3 runs  step 0 to 10 of 99  1.0 model-steps/s\n"

-- The errors of a log with these texts, as a sweep prints them.
local function format_errors(...)
  return failures.format_errors(support.write("log.txt", table.concat({ ... })), 0, 8)
end

function TestFailures.test_failures_of_a_group_are_reported_for_any_order_of_lines()
  local text = "    " .. FAILED[1]:gsub("\n", "\n    ")
    .. "learning rate 0.001, seed 10: error: step 2: the loss is nan\n"
    .. "    learning rate 1e+06, seed 0: error: step 2: the loss is nan"
  lu.assertEquals(format_errors(WARNED[1], WARNED[2], WARNED[3], FAILED[1], FAILED[2], FAILED[3], CLOSING), text)
  lu.assertEquals(format_errors(WARNED[1], FAILED[1], WARNED[2], PROGRESS, FAILED[2], WARNED[3], FAILED[3], CLOSING),
    text)
  lu.assertEquals(format_errors(WARNED[3], FAILED[3], WARNED[2], FAILED[2], WARNED[1], FAILED[1], CLOSING), text)
end

-- Several processes, which train different runs of a cell, write to one log.
function TestFailures.test_runs_of_other_processes_are_left_out()
  local log = support.write("log.txt", FAILED[1] .. FAILED[2])
  lu.assertEquals(failures.format_errors(log, 0, 1, { { learning_rate = 1e-3, seed = 10 } }),
    "    learning rate 0.001, seed 10: error: step 2: the loss is nan")
end

function TestFailures.test_an_early_failure_is_reported()
  lu.assertStrContains(format_errors(FAILED[1], PROGRESS:rep(1000)), "seed 9: error: step 2")
end

function TestFailures.test_other_failures_show_the_end_of_the_log()
  lu.assertEquals(format_errors("compiles\n", "trainer: error: no space left\n  hint: room\n"),
    "    trainer: error: no space left\n      hint: room")
  lu.assertEquals(failures.format_errors(support.write("log.txt", "before\na\nb\n" .. PROGRESS .. "c\n"), 7, 2),
    "    b\n    c")
  lu.assertNil(format_errors(PROGRESS))
  lu.assertNil(failures.format_errors("/no/such/log.txt", 0, 8))
end

TestBench = {}

-- Writes a shell script in place of a trainer; returns its path.
local function write_trainer(body)
  local path = support.write("trainer", "#!/bin/sh\n" .. body .. "\n")
  assert(os.execute(("chmod +x '%s'"):format(path)))
  return path
end

function TestBench.test_bench_gives_rows_or_an_exit_code()
  local rows = estimate.run_bench(write_trainer([[[ "$*" = "bench --json --lengths 5" ] &&
    echo '{"mode":"train","length":5,"steps_per_second":2.5}' && echo '{"mode":"eval","length":5}']]),
    { "--lengths", "5" })
  lu.assertEquals(rows, { { mode = "train", length = 5, steps_per_second = 2.5 }, { mode = "eval", length = 5 } })
  lu.assertEquals({ estimate.run_bench(write_trainer("exit 4"), {}) }, { nil, 4 })
end

support.run()
