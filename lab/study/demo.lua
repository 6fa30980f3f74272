-- The demo: two small encoders learn to sort on short sequences and are tested on long ones.
--
-- Input: { project, say, provide, steps }. lab/verbs.lua describes project, say and provide; steps is the number of
-- steps of each run, or nil. Output: an exit code; the runs, a table and a plot are in runs/demo. The seed is fixed, so
-- equal numbers of steps give equal bits.

local estimate = require("lab.study.run.estimate")
local colours = require("lab.study.report.figures.colours")
local curves = require("lab.study.report.figures.curves")
local draw = require("lab.study.report.figures.draw")
local figures = require("lab.study.report.figures.figures")
local lists = require("base.lists")
local runs = require("lab.study.read.runs")
local shell = require("base.shell")
local stop = require("lab.stop")
local statistics = require("lab.study.read.statistics")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

local ENVIRONMENT = 4 -- exit code
local must = stop.must

local OUT = "runs/demo"
local TRAINED_TO = 40 -- the longest training length
local RUNS = {
  { id = "bucket_sort_sinusoid", title = "sinusoid", encoding = "sincos" },
  { id = "bucket_sort_rand_sinusoid", title = "randomized sinusoid", encoding = "rand-sincos" },
}
local BUDGET_SECONDS = 300
local MIN_STEPS = 300 -- with fewer steps the models learn too little
local MIN_GAIN = 0.1 -- a model whose accuracy is this much above the majority baseline has learned to sort

local LENGTH, ACCURACY, LOSS = 1, 2, 3 -- indices in a point, an item of run.points

-- Returns the mean of a field of the points, ACCURACY or LOSS, over the evaluated lengths from..to.
local function compute_mean(run, field, from, to)
  return statistics.mean(lists.map(run.points, function(point)
    return point[LENGTH] >= from and point[LENGTH] <= to and point[field] or nil
  end))
end

-- Returns the number of steps of each run and the expected seconds. The number is less than `planned_steps` if the demo
-- would take too long and the user named no number. rate: steps per second.
local function decide_steps(options, rate, planned_steps)
  local function estimate_seconds(steps)
    return #RUNS * steps / rate * 1.15 + 10 -- 15% and 10 seconds more for evaluations and pictures
  end
  if options.steps or estimate_seconds(planned_steps) <= BUDGET_SECONDS then
    return planned_steps, estimate_seconds(planned_steps)
  end
  local max_steps = (BUDGET_SECONDS - 10) * rate / (#RUNS * 1.15)
  local steps = math.max(MIN_STEPS, math.floor(max_steps) // 50 * 50)
  return steps, estimate_seconds(steps)
end

local function format_percent(value)
  return value and ("%5.1f%%"):format(100 * value) or "     -"
end

-- Returns the lines of a table with a row for each evaluated length. chance, baseline: the accuracies of guessing, and
-- of always answering with the most frequent symbol; baseline may be nil.
local function make_table(chance, baseline)
  local function format_line(name, first, second, cell)
    return ("%-14s %8s %10s"):format(name, first, second) .. table.concat(lists.map(RUNS, function(run)
      return ("  %20s"):format(cell(run))
    end))
  end
  local lines = { format_line("length", "chance", "majority", function(run) return run.title end) }
  local function add(name, from, to)
    lines[#lines + 1] = format_line(name, format_percent(chance), format_percent(baseline), function(run)
      return format_percent(compute_mean(run, ACCURACY, from, to))
    end)
  end
  for _, point in ipairs(RUNS[1].points) do
    add(("%d"):format(point[LENGTH]), point[LENGTH], point[LENGTH])
  end
  add(("mean 1..%d"):format(TRAINED_TO), 1, TRAINED_TO)
  add("mean beyond", TRAINED_TO + 1, math.huge)
  return lines
end

-- Builds the trainers and sets dir (the trainer's folder), plan and lengths (in words) of each run.
local function build_all(options)
  for i, run in ipairs(RUNS) do
    options.say(("[%d/%d] %s: generate and compile"):format(i, #RUNS, run.id))
    local dir, code = options.provide(run.id, {})
    must(code, dir)
    run.dir = dir:sub(1, 1) == "/" and dir or "./" .. dir
    local spec = options.project:plan(run.id, {})
    local lengths = spec.resolved.eval.lengths
    run.plan, run.lengths = spec.plan, lengths.list and "lengths " .. table.concat(lengths.list, ", ")
      or ("lengths %d to %d"):format(lengths.first, lengths.last)
  end
end

-- Trains one run from the start, after the files of an earlier demo are deleted. Sets run.points.
local function train(run, steps, options)
  write.remove_tree(("%s/%s"):format(OUT, run.id))
  local code = shell.run({ run.dir .. "/trainer", "train", "--steps", steps, "--seed", 1, "--out", OUT })
  if code ~= 0 then
    options.say(("%s stopped (exit code %d)"):format(run.id, code))
    stop.exit(code)
  end
  local dir = ("%s/%s/%s"):format(OUT, run.id, run.plan.digest)
  dir = dir .. "/" .. (lists.find(write.list_names(dir), function(name) return name:find("^lr") end) or "")
  local trained_run = runs.read(dir)
  if not trained_run or trained_run.damaged then
    options.say(trained_run and ("%s/%s"):format(dir, trained_run.notes[1]) or dir .. " is not a folder of a run")
    stop.exit(ENVIRONMENT)
  end
  run.points = figures.list_points(trained_run, nil, 1, "accuracy", "loss")
end

local function train_all(options, steps)
  for i, run in ipairs(RUNS) do
    options.say(("\n[%d/%d] %s: training %s, then accuracy at %s"):format(i, #RUNS, run.id,
      wording.count(steps, "step"), run.lengths))
    train(run, steps, options)
  end
end

-- Measures the speed, and chooses and reports the number of steps.
local function choose_steps(options)
  local rows, code = estimate.run_bench(RUNS[1].dir .. "/trainer", { "--seconds", "1", "--lengths", "20" })
  local row = lists.find(rows or {}, function(entry) return entry.mode == "train" end)
  if not row then
    code = code or 1
    options.say(("the trainer's bench failed (exit code %d)"):format(code))
    stop.exit(code)
  end
  local planned_steps = options.steps or RUNS[1].plan.resolved.train.steps
  local steps, seconds = decide_steps(options, row.steps_per_second, planned_steps)
  options.say(("\n%.0f steps per second here: %d runs of %s take about %s"):format(row.steps_per_second, #RUNS,
    wording.count(steps, "step"), wording.format_duration(seconds)))
  if steps < planned_steps then
    options.say(("(%d steps instead of %d, to stay near %s)"):format(steps, planned_steps,
      wording.format_duration(BUDGET_SECONDS)))
  end
  return steps
end

-- Describes the failure of the first run beyond the training lengths. loss, accuracy: means over the longer lengths.
local function describe_failure(loss, accuracy, task, classes)
  local text = ("Beyond %d tokens, plain sinusoids give the model positions that never occurred in training."):format(
    TRAINED_TO)
  local uniform_loss = math.log(classes)
  if loss > uniform_loss then
    text = ("%s It is overconfident there:\nits loss is %.2f nats per token, although equal probabilities of all %d "
      .. "symbols would give ln %d = %.2f."):format(text, loss, classes, classes, uniform_loss)
  end
  if accuracy < task.chance then
    text = ("%s Its accuracy, %.1f%%, is below chance (%.0f%%)."):format(text, 100 * accuracy, 100 * task.chance)
  end
  return text
end

-- Returns the conclusion from the table, as text.
--   trained_runs   two runs with points: with plain sinusoids, then with random positions
--   task           { chance, baseline (or nil) }, shares
--   classes        the number of symbols that a model chooses from
function M.format_conclusion(trained_runs, task, classes, steps)
  local plain_run, random_run = trained_runs[1], trained_runs[2]
  local accuracy = compute_mean(plain_run, ACCURACY, 1, TRAINED_TO)
  local baseline = task.baseline or task.chance
  if accuracy < baseline + MIN_GAIN then
    return ("After %s the plain model predicts %.1f%% of the tokens correctly at training lengths, the majority "
      .. "baseline %.1f%%:\nit has not learned to sort yet, so longer sequences show nothing. More steps would show "
      .. "more."):format(wording.count(steps, "step"), 100 * accuracy, 100 * baseline)
  end
  local first, last = TRAINED_TO + 1, math.huge
  return describe_failure(compute_mean(plain_run, LOSS, first, last), compute_mean(plain_run, ACCURACY, first, last),
    task, classes)
    .. ("\nIn training, random positions were sorted samples from 0 to %d, so longer sequences have no new "
      .. "positions."):format(random_run.plan.attentions[1].positions.bound - 1)
end

local function make_csv()
  return "run,length,accuracy\n" .. table.concat(lists.collect(RUNS, function(run)
    return lists.map(run.points, function(point)
      return ("%s,%d,%.6f\n"):format(run.id, point[LENGTH], point[ACCURACY])
    end)
  end))
end

-- Makes a figure, whose fields curves.lua describes.
local function make_figure(task)
  local last = RUNS[1].points[#RUNS[1].points][LENGTH]
  local panel = { xlabel = "tokens to sort", ylabel = "token accuracy", x = { 0, last * 1.02 }, y = { 0, 100 },
    percent = true, levels = figures.make_levels(task), marks = { { TRAINED_TO } },
    shade = { 0, TRAINED_TO }, labels = { { TRAINED_TO / 2, 4, "in training", "center" },
      { TRAINED_TO + last * 0.015, 4, "longer than in training", "left" } } }
  panel.curves = lists.map(RUNS, function(run)
    local points = lists.map(run.points, function(point) return { point[LENGTH], 100 * point[ACCURACY] } end)
    return { points = points, style = colours.choose_style(run.encoding), line = run.title }
  end)
  return { name = "accuracy", panels = { panel } }
end

local function report(options, steps)
  local task = RUNS[1].plan.task
  local lines = make_table(task.chance, task.baseline)
  options.say(("\nToken accuracy at lengths seen in training (in distribution: up to %d) and beyond (out of "
    .. "distribution):\n"):format(TRAINED_TO))
  options.say(table.concat(lines, "\n"))
  options.say("\n" .. M.format_conclusion(RUNS, task, RUNS[1].plan.classes, steps))
  local files = {
    { path = "table.txt", text = table.concat(lines, "\n") .. "\n" },
    { path = "accuracy.csv", text = make_csv() },
    { path = "accuracy.gnuplot", text = curves.make_script(make_figure(task)) },
  }
  local problem = draw.add(files, { "accuracy" })
  local is_written, message = write.files(OUT, files)
  if not is_written or problem then
    options.say(message or problem)
    stop.exit(ENVIRONMENT)
  end
  options.say(("\nplot: %s/accuracy.svg, .pdf and .png; numbers and runs: in the same folder"):format(OUT))
end

function M.run(options)
  options.say(("Two encoders learn to sort sequences of 1 to %d tokens and are then given longer ones."):format(
    TRAINED_TO))
  options.say("One adds plain sinusoids to its input, the other sinusoids of random positions (Ruoss et al. 2023).\n")
  build_all(options)
  local steps = choose_steps(options)
  train_all(options, steps)
  report(options, steps)
  return 0
end

return M
