-- The demo: two small encoders learn to sort on short sequences and are tested on long ones.
--
-- Input: { project, say, provide, steps }: say prints a line, provide builds a run and returns its folder. Output: an
-- exit code; the runs, a table and a plot are in runs/demo. The seed is fixed, so that results are bit-identical.

local estimate = require("lab.study.run.estimate")
local colours = require("lab.study.report.figures.colours")
local curves = require("lab.study.report.figures.curves")
local draw = require("lab.study.report.figures.draw")
local figures = require("lab.study.report.figures.figures")
local lfs = require("lfs")
local lists = require("base.lists")
local runs = require("lab.study.read.runs")
local shell = require("base.shell")
local stop = require("lab.stop")
local statistics = require("lab.study.read.statistics")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

local must = stop.must

local OUT = "runs/demo"
local TRAINED_TO = 40
local RUNS = {
  { id = "bucket_sort_sinusoid", title = "sinusoid", encoding = "sincos" },
  { id = "bucket_sort_rand_sinusoid", title = "randomized sinusoid", encoding = "rand-sincos" },
}
local BUDGET_SECONDS = 300
local FEWEST_STEPS = 300 -- with fewer steps the models learn too little
local LEARNED = 0.1 -- least distance above the majority baseline that shows learning of the order

-- Returns accuracy and loss of a trained run by length, for the table.
local function accuracy_of(run)
  local accuracy = { by_length = {}, loss = {}, lengths = {} }
  for _, point in ipairs(figures.points(run, nil, 1, "accuracy", "loss")) do
    local length = point[1]
    table.insert(accuracy.lengths, length)
    accuracy.by_length[length], accuracy.loss[length] = point[2], point[3]
  end
  return accuracy
end

-- Returns the mean of values[length] over the evaluated lengths of a range.
local function mean(accuracy, values, from, to)
  return statistics.mean(lists.map(accuracy.lengths, function(length)
    return length >= from and length <= to and values[length] or nil
  end))
end

-- Measures steps per second at the average training length.
local function measure(trainer)
  local rows, code = estimate.bench(trainer, { "--seconds", "1", "--lengths", "20" })
  if not rows then
    return nil, code
  end
  local row = lists.find(rows, function(one) return one.mode == "train" end)
  return row and row.steps_per_second, 1
end

-- Returns the number of steps that fits the time, and the expected time, with evaluation included; sequences longer
-- than average cost more than in proportion.
local function decide_steps(options, rate, wanted)
  local seconds = #RUNS * wanted / rate * 1.15 + 10
  if options.steps or seconds <= BUDGET_SECONDS then
    return wanted, seconds
  end
  local steps = math.max(FEWEST_STEPS, (BUDGET_SECONDS - 10) * rate // (#RUNS * 1.15) // 50 * 50 // 1)
  return math.tointeger(steps), #RUNS * steps / rate * 1.15 + 10
end

-- Returns the folder of a trained run, below runs/demo/<id>/<digest>; its name contains the rate and the seed.
local function run_folder(run)
  local parent = ("%s/%s/%s"):format(OUT, run.id, run.plan.digest)
  for name in lfs.dir(parent) do
    if name:find("^lr") then
      return parent .. "/" .. name
    end
  end
  return parent
end

local function percent(value)
  return value and ("%5.1f%%"):format(100 * value) or "     -"
end

-- The table as lines of text.
local function table_lines(trained, chance, baseline)
  local lines = { ("%-14s %8s %10s"):format("length", "chance", "majority") }
  for _, run in ipairs(trained) do
    lines[1] = lines[1] .. ("  %20s"):format(run.title)
  end
  local function row(name, from, to)
    local line = ("%-14s %8s %10s"):format(name, percent(chance), percent(baseline))
    for _, run in ipairs(trained) do
      line = line .. ("  %20s"):format(percent(mean(run.accuracy, run.accuracy.by_length, from,
        to)))
    end
    lines[#lines + 1] = line
  end
  for _, length in ipairs(trained[1].accuracy.lengths) do
    row(("%d"):format(length), length, length)
  end
  row(("mean 1..%d"):format(TRAINED_TO), 1, TRAINED_TO)
  row("mean beyond", TRAINED_TO + 1, math.huge)
  return lines
end

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

-- Trains one run from the start; files of an earlier demo are deleted first.
local function train(run, steps, options)
  write.remove_tree(("%s/%s"):format(OUT, run.id))
  local code = shell.run({ run.dir .. "/trainer", "train", "--steps", steps, "--seed", 1, "--out", OUT })
  if code ~= 0 then
    options.say(("%s stopped (exit code %d)"):format(run.id, code))
    stop.with(code)
  end
  local dir = run_folder(run)
  local found = runs.read(dir)
  if not found or found.damaged then
    options.say(found and ("%s/%s"):format(dir, found.notes[1]) or dir .. " is no folder of a run")
    stop.with(4)
  end
  run.accuracy = accuracy_of(found)
end

local function train_all(options, steps)
  for i, run in ipairs(RUNS) do
    options.say(("\n[%d/%d] %s: training %s, then accuracy at %s"):format(i, #RUNS, run.id,
      wording.count(steps, "step"), run.lengths))
    train(run, steps, options)
  end
end

-- Prints the expected duration, from a measurement; returns the number of steps.
local function announce(options)
  local rate, code = measure(RUNS[1].dir .. "/trainer")
  if not rate then
    options.say(("the trainer's bench failed (exit code %d)"):format(code))
    stop.with(code)
  end
  local wanted = options.steps or RUNS[1].plan.resolved.train.steps
  local steps, seconds = decide_steps(options, rate, wanted)
  options.say(("\n%.0f steps per second here: %d runs of %s take about %s"):format(rate, #RUNS,
    wording.count(steps, "step"), wording.duration(seconds)))
  if steps < wanted then
    options.say(("(%d steps instead of %d, to stay near %s)"):format(steps, wanted, wording.duration(BUDGET_SECONDS)))
  end
  return steps
end

-- Describes the failure of the first run beyond the training lengths; loss and accuracy are means over these lengths.
local function failure_text(loss, accuracy, task, classes)
  local text = ("Beyond %d tokens, plain sinusoids give the model positions that never occurred in training."):format(
    TRAINED_TO)
  local even = math.log(classes)
  if loss > even then
    text = ("%s It is overconfident there:\nits loss is %.2f nats per token, although equal probabilities of all %d "
      .. "symbols would give ln %d = %.2f."):format(text, loss, classes, classes, even)
  end
  if accuracy < task.chance then
    text = ("%s Its accuracy, %.1f%%, is below chance (%.0f%%)."):format(text, 100 * accuracy, 100 * task.chance)
  end
  return text
end

-- Returns the conclusion from the table, as text. trained: the runs with accuracies; the first run has plain sinusoids.
function M.conclusion(trained, task, classes, steps)
  local plain, random = trained[1], trained[2]
  local learned = mean(plain.accuracy, plain.accuracy.by_length, 1, TRAINED_TO)
  local nothing = task.baseline or task.chance
  if learned < nothing + LEARNED then
    return ("After %s the plain model predicts %.1f%% of the tokens correctly at training lengths, the majority "
      .. "baseline %.1f%%:\nit has not learned to sort yet, so longer sequences show nothing. More steps would show "
      .. "more."):format(wording.count(steps, "step"), 100 * learned, 100 * nothing)
  end
  local beyond, last = TRAINED_TO + 1, math.huge
  return failure_text(mean(plain.accuracy, plain.accuracy.loss, beyond, last),
    mean(plain.accuracy, plain.accuracy.by_length, beyond, last), task, classes)
    .. ("\nRandom positions in training covered 0 to %d, in order: a longer sequence has no new positions."):format(
      random.plan.attentions[1].positions.max_position - 1)
end

local function csv()
  local lines = { "run,length,accuracy\n" }
  for _, run in ipairs(RUNS) do
    lists.append(lines, lists.map(run.accuracy.lengths, function(length)
      return ("%s,%d,%.6f\n"):format(run.id, length, run.accuracy.by_length[length])
    end))
  end
  return table.concat(lines)
end

local function figure(task)
  local lengths = RUNS[1].accuracy.lengths
  local last = lengths[#lengths]
  local panel = { xlabel = "tokens to sort", ylabel = "token accuracy", x = { 0, last * 1.02 }, y = { 0, 100 },
    percent = true, levels = figures.levels_of(task), marks = { { TRAINED_TO } },
    shade = { 0, TRAINED_TO }, labels = { { TRAINED_TO / 2, 4, "in training", "center" },
      { TRAINED_TO + last * 0.015, 4, "longer than in training", "left" } } }
  panel.curves = lists.map(RUNS, function(run)
    local points = lists.map(run.accuracy.lengths, function(length)
      return { length, 100 * run.accuracy.by_length[length] }
    end)
    return { points = points, style = colours.of(run.encoding), title = run.title }
  end)
  return { name = "accuracy", panels = { panel } }
end

local function report(options, steps)
  local task = RUNS[1].plan.task
  local lines = table_lines(RUNS, task.chance, task.baseline)
  options.say(("\nToken accuracy at lengths seen in training (in distribution: up to %d) and beyond (out of "
    .. "distribution):\n"):format(TRAINED_TO))
  options.say(table.concat(lines, "\n"))
  options.say("\n" .. M.conclusion(RUNS, task, RUNS[1].plan.classes, steps))
  local files = {
    { path = "table.txt", text = table.concat(lines, "\n") .. "\n" },
    { path = "accuracy.csv", text = csv() },
    { path = "accuracy.gnuplot", text = curves.script(figure(task)) },
  }
  local problem = draw.add(files, { "accuracy" })
  local written, message = write.files(OUT, files)
  if not written or problem then
    options.say(message or problem)
    stop.with(4)
  end
  options.say(("\nplot: %s/accuracy.svg, .pdf and .png; numbers and runs: in the same folder"):format(OUT))
end

function M.run(options)
  options.say(("Two encoders learn to sort sequences of 1 to %d tokens and are then given longer ones."):format(
    TRAINED_TO))
  options.say("One adds plain sinusoids to its input, the other sinusoids of random positions (Ruoss et al. 2023).\n")
  build_all(options)
  local steps = announce(options)
  train_all(options, steps)
  report(options, steps)
  return 0
end

return M
