-- The progress of a sweep: states of runs, sums of work, and the displayed lines.

local support = dofile("tests/lua/support.lua")

local failures = require("lab.study.run.failures")
local run_progress = require("lab.study.run.run_progress")
local grid = require("lab.study.grid.grid")
local json = require("dkjson")
local ledger = require("lab.study.run.ledger")
local lfs = require("lfs")
local lists = require("base.lists")
local lu = require("luaunit")
local project = require("project").new(".")
local reports = require("reports")
local overview = require("lab.study.run.overview")
local set_aside = require("lab.study.run.set_aside")
local progress_text = require("lab.study.run.progress_text")
local write = require("base.write")

TestRunProgress = {}

-- Expands a study of one cell with one run. goal_fields: other fields of cell.goal. Returns the cell and the run.
local function expand_cell(goal_fields)
  local study = assert(grid.expand(project, support.write("run_progress/probe.lua", [[
return { title = "p", base = { task = { kind = "parity_check" }, model = { use = "small_encoder" }, encoding = { kind =
  "none" }, train = { steps = 70, batch = 4, lengths = { 1, 4 }, log_every = 10 }, eval = { lengths = { 3, 4 },
  examples = 8 } }, axes = { { name = "width", values = { { name = 16, spec = { model = { width = 16 } } } } } } }]])))
  local cell = study.cells[1]
  cell.goal = ledger.derive_goal(cell)
  lists.update(cell.goal, goal_fields or {})
  return cell, cell.runs[1]
end

local EVALUATED = '{"step":70,"split":"in_distribution","by":{"length":%d},"examples":8,"draws":1,"accuracy":0.5}\n'
local RUN_FACTS = '{"id":"x","step":%s,"train_seconds":1,"ended":null,"exit":%s}\n'

-- The text of run.json for a run that ended at this step.
local function make_facts(cell, run, spec, step)
  return ('{"id":"%s","digest":"%s","seed":%d,"learning_rate":%.17g,"spec":%s,"step":%d,"train_seconds":1,'
    .. '"ended":null,"exit":0}\n'):format(cell.id, cell.spec.plan.digest, run.seed, run.learning_rate,
    json.encode(spec), step)
end

-- The state and progress of a run follow its files, which another process writes.
function TestRunProgress.test_a_run_from_its_first_line_to_its_end()
  local cell, run = expand_cell()
  local dir = support.write("run_progress/run/" .. run.dir .. "/lock", ""):match("^(.*)/")
  local spec = reports.make_spec("parity_check")
  local function read_state(files, now)
    for name, text in pairs(files) do
      assert(write.file(dir .. "/" .. name, text)) -- the file is replaced, as trainers do
    end
    run_progress.read(cell, run, dir, {}, now)
    return run.state
  end
  local now, metrics = os.time(), '{"step":35,"accuracy":0.75,"steps_per_second":2}\n{"st' -- the last line is torn
  lu.assertEquals(read_state({}, now), "absent")
  lu.assertEquals(read_state({ ["run.json"] = RUN_FACTS:format("null", "null") }, now), "running")
  lu.assertEquals(read_state({ ["metrics.jsonl"] = metrics }, now), "running")
  lu.assertEquals({ run.progress.step, run.progress.accuracy, run.progress.rate, run.progress.work }, { 35, 0.75, 2,
    cell.goal.train_work / 2 })
  lu.assertEquals(read_state({ ["metrics.jsonl"] = '{"step":50,"steps_per_second":2}\n' }, now + 100), "running")
  lu.assertEquals(run.progress.rate, 50 / 100, "the logged rate, 2, leaves out the time of other runs on the thread")
  lu.assertEquals(read_state({}, now + 200), "running")
  lu.assertEquals(read_state({}, now + 1000), "stopped")
  lu.assertEquals(read_state({ ["metrics.jsonl"] = '{"step":70,"steps_per_second":2}\n' }, now + 1000), "running")
  lu.assertEquals(run.progress.rate, 2, "the pause does not count")
  lu.assertEquals(read_state({ ["eval.jsonl"] = EVALUATED:format(3) .. '{"step":7' }, now + 1000), "running")
  lu.assertEquals(run.progress.evaluated, 1)
  lu.assertEquals(run.progress.work, cell.goal.train_work + cell.goal.eval_work[1])
  lu.assertEquals(read_state({ ["run.json"] = RUN_FACTS:format(70, 1) }, now), "failed")
  lu.assertEquals(read_state({ ["run.json"] = RUN_FACTS:format(50, 75) }, now), "stopped")
  lu.assertEquals(read_state({ ["run.json"] = make_facts(cell, run, spec, 50) }, now), "to continue") -- to step 70
  lu.assertEquals(read_state({ ["run.json"] = make_facts(cell, run, spec, 90) }, now), "trained further")
  lu.assertEquals(read_state({ ["run.json"] = make_facts(cell, run, spec, 70), ["eval.jsonl"] = EVALUATED:format(3)
    .. EVALUATED:format(4) }, now), "done")
end

-- A run is running if a process of this machine holds its lock, even if its files are old.
function TestRunProgress.test_a_locked_folder_shows_a_run_in_training()
  local cell, run = expand_cell()
  local dir = support.write("run_progress/old/run.json", RUN_FACTS:format("null", "null")):match("^(.*)/")
  support.write("run_progress/old/metrics.jsonl", '{"step":35}\n')
  run_progress.read(cell, run, dir, {}, os.time() + 2000)
  lu.assertEquals(run.state, "stopped")
  support.write("run_progress/old/lock", "")
  run.files = nil
  run_progress.read(cell, run, dir, { [lfs.attributes(dir .. "/lock", "ino")] = true }, os.time() + 2000)
  lu.assertEquals(run.state, "running")
end

-- If a task makes dataset files, a sweep does not know the conditions of an evaluation. It does know the decoding.
function TestRunProgress.test_a_decoder_without_lengths()
  local cell, run = expand_cell({ conditions = {}, lengths = {}, decoding = "greedy" })
  local spec = reports.make_spec("successor")
  spec.model.kind = "decoder"
  local dir = support.write("run_progress/made/" .. run.dir .. "/run.json",
    make_facts(cell, run, spec, 70)):match("^(.*)/")
  local line = '{"step":70,"split":"test","by":{"digits":3},"examples":8,"draws":1,%s"accuracy":0.5,"exact_match":0}\n'
  for decoding, expected in pairs({ [""] = "to evaluate", ['"decoding":"greedy",'] = "done" }) do
    support.write("run_progress/made/" .. run.dir .. "/eval.jsonl", line:format(decoding))
    support.write("run_progress/made/" .. run.dir .. "/checkpoint.safetensors", "")
    run.files = nil
    run_progress.read(cell, run, dir, {}, os.time())
    lu.assertEquals(run.state, expected)
  end
end

-- If the spec requests accuracies by place, a run without them is evaluated again.
function TestRunProgress.test_places_are_required_if_the_spec_requests_them()
  local cell, run = expand_cell({ places = true })
  local front = "run_progress/places/" .. run.dir
  local dir = support.write(front .. "/run.json", make_facts(cell, run, reports.make_spec("parity_check"), 70))
    :match("^(.*)/")
  local places = '"accuracy":0.5,"places":{"sequences":8,"start":{"counted":[8],"correct":[4]},"end":{"counted":[8],'
    .. '"correct":[4]},"first_error":[4]}}'
  local two_lines = EVALUATED:format(3) .. EVALUATED:format(4)
  for text, expected in pairs({ [two_lines] = "to evaluate", [two_lines:gsub('"accuracy":0.5}', places)] = "done",
    [EVALUATED:format(3) .. EVALUATED:format(4):gsub('"accuracy":0.5}', places)] = "to evaluate" }) do
    support.write(front .. "/eval.jsonl", text)
    support.write(front .. "/checkpoint.safetensors", "")
    run.files = nil
    run_progress.read(cell, run, dir, {}, os.time())
    lu.assertEquals(run.state, expected, text)
  end
end

-- The number of steps in an epoch is unknown before a run begins.
function TestRunProgress.test_work_of_a_run_in_epochs()
  local cell = expand_cell()
  cell.spec.resolved.train.steps, cell.spec.resolved.train.epochs = nil, 6
  cell.goal = ledger.derive_goal(cell)
  lu.assertNil(cell.goal.total)
  local spec = reports.make_spec("parity_check")
  local dir = support.write("run_progress/epochs/run.json", json.encode({ id = cell.id, digest = cell.spec.plan.digest,
    seed = 0, learning_rate = 1e-3, spec = spec, data = { epoch_batches = 9 } })):match("^(.*)/")
  support.write("run_progress/epochs/metrics.jsonl", '{"step":27}\n')
  lu.assertEquals(ledger.read_progress(dir, cell.goal).work, 0)
  ledger.learn_steps(cell, dir)
  lu.assertEquals({ cell.goal.total, cell.goal.steps }, { 54, nil })
  lu.assertEquals(ledger.read_progress(dir, cell.goal).work, cell.goal.train_work / 2)
end

TestProgressText = {}

-- A study of tasks by widths, in which each cell has two runs of 100 operations. fill(run, i, j, k, cell) sets a run's
-- state and progress; i, j, k: the indices of the task, of the width, and of the run in its cell.
local function make_grid(task_count, width_count, fill)
  local study = { axes = { { name = "task", values = {} }, { name = "width", values = {} } }, cells = {} }
  for i = 1, task_count do
    study.axes[1].values[i] = "task_" .. i
    for j = 1, width_count do
      study.axes[2].values[j] = tostring(16 * j)
      local cell = { key = { task = "task_" .. i, width = tostring(16 * j) }, runs = {}, id = "cell",
        goal = { total = 10, work = 100 }, spec = { plan = { flops_per_step = 10 } } }
      for k = 1, 2 do
        cell.runs[k] = { state = "absent" }
        fill(cell.runs[k], i, j, k, cell)
      end
      study.cells[#study.cells + 1] = cell
    end
  end
  return study
end

-- A function `fill` of make_grid. The first run of each cell is done. The second run is running for the first task, has
-- failed for the second task, and has not begun for the other tasks.
local function finish_half(run, i, _, k)
  run.state = k == 1 and "done" or i == 1 and "running" or i == 2 and "failed" or "absent"
  run.progress = run.state == "running" and { work = 50, rate = 2.5, accuracy = 0.5 } or k == 1 and { work = 100,
    accuracy = 0.25 } or nil
end

local function format_progress(study, lines, columns, failed)
  return progress_text.format(study, { title = "probe", failures = failed or {}, lines = lines, columns = columns,
    seconds_left = function() return 75 end })
end

function TestProgressText.test_sums_of_work_and_runs()
  local total, list = progress_text.sum_up(make_grid(3, 2, finish_half), 99)
  lu.assertEquals({ total.runs, total.done, total.running, total.failed }, { 12, 6, 2, 2 })
  lu.assertEquals({ total.done_work, total.work, total.share, total.step_rate, total.work_rate, total.best },
    { 700, 1200, 7 / 12, 5, 50, 0.5 })
  lu.assertEquals({ #list, list[1].name, list[1].sums.share, list[3].sums.failed }, { 6, "task_1 16", 0.75, 1 })
end

-- Cells of unknown work count like the others; a bar is never full before the end.
function TestProgressText.test_unknown_work()
  local function fill_unknown(run, i, j, k, cell)
    finish_half(run, i, j, k)
    cell.goal = i > 1 and { work = 0 } or cell.goal
  end
  local total = progress_text.sum_up(make_grid(3, 2, fill_unknown), 99)
  lu.assertEquals({ total.work, total.done_work }, { 1200, 700 })
  total = progress_text.sum_up(make_grid(3, 2, function(run, i, j, k, cell)
    finish_half(run, i, j, k)
    cell.goal = { work = 0 }
  end), 99)
  lu.assertEquals({ total.share, total.is_known }, { 0.5, false })
  lu.assertEquals(progress_text.format_bar(0.9999) .. progress_text.format_bar(1),
    "[###################.][####################]")
end

-- The first line counts ended runs that a sweep continues, and ended runs that it leaves unchanged.
function TestProgressText.test_words_for_ended_runs()
  local study = make_grid(1, 2, function(run, _, j, k)
    run.state = j == 1 and (k == 1 and "to continue" or "to evaluate") or k == 1 and "trained further" or "done"
  end)
  lu.assertEquals(format_progress(study)[1], "probe: 2 of 4 runs done (1 trained further), 0 running, 1 to continue, "
    .. "1 to evaluate")
end

function TestProgressText.test_a_line_for_each_group()
  lu.assertEquals(format_progress(make_grid(2, 2, finish_half)), {
    "probe: 4 of 8 runs done, 2 running, 2 failed",
    "[############........] 5.0 steps/s; 1 min 15 s left",
    "task width                  done running failed  steps/s   best   left",
    "task_1 16   [######..]       1/2       1             2.5 0.5000     2s",
    "task_1 32   [######..]       1/2       1             2.5 0.5000     2s",
    "task_2 16   [####....]       1/2              1          0.2500",
    "task_2 32   [####....]       1/2              1          0.2500" })
end

-- If a terminal has too few lines, all values of the last axis share a line. If the lines are still too many, lines of
-- running cells are shown, and the others are counted. No line is too long, whatever the names are.
function TestProgressText.test_lines_fit_the_terminal()
  local failed = {}
  for i = 1, 9 do
    failed[i] = { name = ("a_cell_with_a_long_name lr0.001-seed%d"):format(i), reason = ("the loss is nan "):rep(9) }
  end
  for _, size in ipairs({ { 3, 2, 12 }, { 12, 3, 23 }, { 60, 4, 23 }, { 400, 1, 30 } }) do
    local study = make_grid(size[1], size[2], finish_half)
    study.axes[1].name = ("long"):rep(20)
    for _, cell in ipairs(study.cells) do
      cell.key[study.axes[1].name] = cell.key.task
    end
    local lines = format_progress(study, 23, 80, failed)
    lu.assertTrue(#lines <= 23, #lines)
    for _, line in ipairs(lines) do
      lu.assertTrue(#line < 80, line)
    end
    lu.assertEquals(lines[#lines], "and 6 more failed")
    lu.assertStrContains(table.concat(lines, "\n"), "task_1")
  end
  local lines = format_progress(make_grid(12, 3, finish_half), 23, 80)
  lu.assertEquals({ #lines, lines[3]:match("^(%S+ )") .. lines[3]:match("%S+", 6), lines[4]:match("%d+/%d+") },
    { 15, "task done", "3/6" })
  lines = format_progress(make_grid(60, 4, finish_half), 23, 80)
  lu.assertEquals(lines[#lines], "and 42 more: 168 of 336 runs done")
end

-- The remaining time follows from the work since the start; if no work is done yet, from the rate.
function TestProgressText.test_time_left()
  local estimate = progress_text.make_time_estimator()
  local sums = { done_work = 100, work = 1000, unknown = 0, is_known = true, work_rate = 9 }
  lu.assertEquals(estimate(sums, 50), 100)
  sums.done_work = 200
  lu.assertEquals(estimate(sums, 60), 80)
  sums.unknown, sums.is_known = 3, false
  lu.assertNil(estimate(sums, 70))
end

function TestProgressText.test_plain_lines_without_a_terminal()
  local actual = {}
  local display = progress_text.open_display(1)
  display.stream = { write = function(_, ...) actual[#actual + 1] = table.concat({ ... }) end, flush = function() end }
  display.is_live = false
  display:show({ "a", "b" })
  display:say("c")
  lu.assertEquals({ table.concat(actual), display:get_size() }, { "a\nb\nc\n", nil })
end

function TestProgressText.test_the_reason_of_a_failure_is_in_the_log()
  local log = support.write("log.txt", "learning rate 0.001, seed 3: error: step 2: the loss is nan\n  more\n"
    .. "learning rate 0.001, seed 4: error: step 9: no\n[###...] 3 runs\n")
  local lines = failures.read_last_lines(log)
  lu.assertEquals(failures.find_error(lines, { learning_rate = 1e-3, seed = 3 }), "step 2: the loss is nan")
  lu.assertNil(failures.find_error(lines, { learning_rate = 1e-2, seed = 3 }))
end

TestSetAside = { tearDown = support.clean }

-- If another sweep has already moved the damaged run, the run counts as absent.
function TestSetAside.test_a_damaged_run_that_another_sweep_moved_is_absent()
  local out = support.write("aside/runs/log.txt", ""):gsub("/[^/]*$", "")
  local run = { path = out .. "/probe/0123456789abcdef/lr0.001-seed1", state = "damaged", words = "torn",
    damage = "torn" }
  lu.assertTrue(set_aside.move_damaged(out, { goal = { steps = 70, conditions = {} } }, { run }))
  lu.assertEquals({ run.state, run.explanation, run.damage }, { "absent", nil, nil })
  lu.assertNil(lfs.attributes(out .. "/probe", "mode"))
end

TestEqualPlans = { tearDown = support.clean }

-- If a finished run has the plan of a cell, but another name, the cell is trained again, and the sweep reports it.
function TestEqualPlans.test_finished_runs_of_another_name_are_reported()
  local cell, run = expand_cell()
  local dir, out = run.dir:gsub("^[^/]+", "equal/parity_check_old"), nil
  local function write_facts(text)
    out = support.write(dir .. "/run.json", text):match("^(.*/equal)/")
  end
  local function list_decisions()
    local study = { name = "p", cells = { cell } }
    overview.find_earlier_runs(study, out)
    return overview.list_decisions(study)
  end
  run.state = "absent"
  local facts = make_facts(cell, run, reports.make_spec("parity_check"), 70)
  write_facts((facts:gsub('"exit":0', '"exit":null')))
  lu.assertEquals(list_decisions(), {})
  write_facts(facts)
  lu.assertEquals(list_decisions(), { ("finished under the name parity_check_old: 1 run of %s: the plans are equal, "
    .. "but the cell is trained again under its own name. If no study uses the other name, reuse these runs: "
    .. "longhand runs rename RUNS/parity_check_old %s"):format(cell.id, cell.id) })
  run.state = "done"
  lu.assertEquals(list_decisions(), {})
end

support.run()
