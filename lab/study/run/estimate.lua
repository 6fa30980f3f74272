-- Estimates the time of a study's missing work on this machine, from short measurements of built trainers.
--
-- Input: the study after ledger.survey; items, from trainers.list of its cells; options. Output: lines of text, or a
-- function that estimates seconds.
--
-- A trainer is measured at a typical length of training and at a typical length of evaluation. Cells with the same
-- encoding, model, precision and batch share a measurement. The time of a cell without a measurement follows from its
-- operations and the mean speed of the measured cells. Cells that train for epochs without a dataset file are not
-- measured: only the trainer knows the number of steps, and making the examples would take minutes.
-- For dataset files, the time of a step is a constant plus a time for each operation. Both are fitted at the two
-- lengths. Steps and operations are counted from the lengths of the files' examples.

local canonical = require("base.canonical")
local costs = require("plan.deriving.costs")
local ledger = require("lab.study.run.ledger")
local lists = require("base.lists")
local statistics = require("lab.study.read.statistics")
local trainer_flags = require("spec.trainer_flags")
local wording = require("base.wording")
local json = require("dkjson")
local shell = require("base.shell")
local speeds = require("lab.study.run.speeds")
local axes_module = require("spec.task.axes")
local data_shapes = require("lab.study.read.data_shapes")
local tasks = require("spec.task.tasks")

local M = {}

local MAX_MEASURED_TRAINERS = 16
local BENCH_SECONDS = 0.25 -- duration of the measurement of each mode and length

-- Returns a text that is equal for cells that share a measurement.
local function make_group_key(cell)
  local resolved, network = cell.spec.resolved, cell.spec.plan.own_network
  return canonical.format({ model = resolved.model, network = network and network.text, encoding = resolved.encoding,
    precision = resolved.precision, batch = resolved.train.batch })
end

-- Returns the number of operations of a training step or of an evaluated batch. row: a row of M.run_bench. A training
-- step takes about three times the operations of its forward pass.
local function count_operations(plan, row)
  return costs.count_forward(plan, row.tokens) * plan.train.batch * (row.mode == "train" and 3 or 1)
end

-- Returns the length whose forward pass is closest to mean_operations; nil without lengths.
--   lengths           a field of the spec, or nil
--   mean_operations   by default the mean over all lengths
local function find_typical_length(cell, lengths, mean_operations)
  local list = lengths and tasks.list_lengths(lengths) or {}
  local operations = lists.map(list, function(n)
    return costs.count_forward(cell.spec.plan, tasks.count_tokens(cell.spec.task, n))
  end)
  local best
  local target = mean_operations or statistics.mean(operations)
  for i in ipairs(list) do
    best = best and math.abs(operations[best] - target) <= math.abs(operations[i] - target) and best or i
  end
  return list[best]
end

-- Fits a line to points { operations, seconds } at one or two lengths. Returns { step, operation }: the constant
-- seconds of a step, and the seconds of an operation. The constant is 0 unless the operations differ by more than 20%.
local function fit_line(points)
  table.sort(points, function(a, b) return a.operations < b.operations end)
  local first_point, last_point = points[1], points[#points]
  local has_slope = last_point.operations > 1.2 * first_point.operations and last_point.seconds > first_point.seconds
  local slope = last_point.seconds / last_point.operations
  if has_slope then
    slope = (last_point.seconds - first_point.seconds) / (last_point.operations - first_point.operations)
  end
  return { step = math.max(0, last_point.seconds - slope * last_point.operations), operation = slope }
end

-- Runs `bench --json` with further words. Returns its rows, { mode ("train" or "eval"), length, tokens,
-- steps_per_second, ... }; or nil and the exit code of a failure.
function M.run_bench(trainer, words)
  local text, code = shell.capture(lists.append({ trainer, "bench", "--json" }, words))
  if code ~= 0 then
    return nil, code
  end
  return lists.map(lists.find_all(text, "[^\n]+"), function(line) return (json.decode(line)) end)
end

-- Measures a trainer. Returns nil if bench fails, or
--   id             the spec's id
--   side_by_side   the number of concurrent runs
--   train, eval    operations per second of all these runs
--   steps          steps of training per second
--   length         the length at which training was measured
--   lines          { train, eval }, each from fit_line
local function measure(item, options)
  local resolved, plan = item.cell.spec.resolved, item.cell.spec.plan
  -- plan.flops_per_step is a mean over all steps, even if the lengths change in a curriculum.
  local mean_operations = plan.flops_per_step / (3 * plan.train.batch)
  local train_length = find_typical_length(item.cell, resolved.train.lengths, mean_operations)
  -- With passes_by_length, a model's buffers are too small for examples longer than those of training.
  local eval_length = plan.cpu.passes_by_length and train_length
    or find_typical_length(item.cell, resolved.eval.lengths)
  local side_by_side = math.min(options.replicas, #item.cell.missing)
  local words = { "--seconds", BENCH_SECONDS, "--threads", options.threads, "--replicas", side_by_side, "--device",
    options.device }
  if train_length then
    lists.append(words, { "--lengths", train_length == eval_length and train_length
      or ("%d,%d"):format(train_length, eval_length or train_length) })
  end
  lists.append(words, trainer_flags.list_files(item.cell.spec.data_files))
  local rates, points = { id = item.cell.id, side_by_side = side_by_side }, { train = {}, eval = {} }
  for _, row in ipairs(M.run_bench(item.dir .. "/trainer", words) or {}) do
    local mode_length = row.mode == "train" and train_length or eval_length or train_length
    local mode_points = points[row.mode]
    if mode_points then
      table.insert(mode_points, { operations = count_operations(plan, row), seconds = 1 / row.steps_per_second })
    end
    if not mode_length or row.length == mode_length then
      rates[row.mode] = row.steps_per_second * count_operations(plan, row)
      rates.steps = row.mode == "train" and row.steps_per_second or rates.steps
      rates.length = row.mode == "train" and row.length or rates.length
    end
  end
  if not (rates.train and rates.eval) then
    return nil
  end
  rates.lines = { train = fit_line(points.train), eval = fit_line(points.eval) }
  return rates
end

local function count_forward(cell, shape)
  return costs.count_forward(cell.spec.plan, tasks.count_stream_tokens(cell.spec.task, shape.input, shape.output))
end

-- Returns the number of batches of an epoch, and the operations of an epoch. All examples of a batch have the same
-- shape. data: from data_shapes.read.
local function count_epoch(cell, data)
  local batch, batches, sum = cell.spec.resolved.train.batch, 0, 0
  for _, shape in ipairs(data.shapes) do
    batches = batches + (shape.count + batch - 1) // batch
    sum = sum + 3 * shape.count * count_forward(cell, shape)
  end
  return batches, sum
end

-- Returns the names of the axes of an evaluation, except the axis "trained" and axes of settings, such as levels of
-- noise. by: the spec's eval.by; nil: by length.
local function list_axes(by)
  return lists.filter(canonical.sort_keys(by or { length = true }), function(name)
    return not axes_module.IS_SETTING[name] and name ~= axes_module.TRAINED
  end)
end

-- Returns two counts for one evaluation of the examples in `data`: forward passes (one for each shape of each
-- condition), and operations. max_examples: the maximum for each condition, or "all".
local function count_evaluation(cell, data, max_examples)
  local counts, passes, sum = {}, 0, 0
  for _, shape in ipairs(data.groups) do
    counts[shape.group] = (counts[shape.group] or 0) + shape.count
  end
  for _, shape in ipairs(data.groups) do
    local share = max_examples == "all" and 1 or math.min(1, max_examples / counts[shape.group])
    passes, sum = passes + 1, sum + share * shape.count * count_forward(cell, shape)
  end
  return passes, sum
end

-- Adds the work of `count` evaluations to `work`. section: eval or eval.during of the spec.
local function add_evaluations(cell, work, section, count)
  local files = cell.spec.data_files
  for _, set in ipairs(ledger.list_evaluated_sets(section.splits, files)) do
    local file = files[set.field]
    local data = file and data_shapes.read(file.real, list_axes(section.by), cell.spec.task)
    if data then
      local passes, sum = count_evaluation(cell, data, section.examples)
      work.passes, work.eval = work.passes + count * passes, work.eval + count * sum
    end
  end
end

-- Returns the factor by which eval.by.noise or eval.by.passes increases the work of the final evaluation.
--   eval.by.noise    one evaluation for each level of noise
--   eval.by.passes   one evaluation for each listed number of loops; the usual number is loops.times
local function compute_level_factor(resolved)
  local by, loops = resolved.eval.by or {}, resolved.model.loops
  local loop_sum = lists.sum(tasks.list_lengths(by.passes), function(loop_count) return loop_count end)
  if by.noise then
    return #by.noise.list
  end
  return by.passes and loop_sum / loops.times or 1
end

-- Counts the work of a run that is trained on a file. The lengths of the file's examples are read, since the plan knows
-- only the largest length, task.longest. Returns nil without a file that has examples; else
--   steps    the number of training steps
--   train    the operations of these steps
--   passes   the number of forward passes of all evaluations
--   eval     the operations of these passes
function M.compute_data_work(cell)
  local resolved, file = cell.spec.resolved, cell.spec.data_files.data
  local data = file and data_shapes.read(file.real, list_axes(nil), cell.spec.task)
  if not data or data.count == 0 then
    return nil
  end
  local train, eval = resolved.train, resolved.eval
  local batches, epoch_operations = count_epoch(cell, data)
  local steps = train.steps or train.epochs * batches
  local work = { steps = steps, train = epoch_operations * steps / batches, passes = 0, eval = 0 }
  add_evaluations(cell, work, eval, compute_level_factor(resolved) * (cell.spec.plan.any_draws and eval.draws or 1))
  if eval.during then
    local unit_steps = train.cadence == "epochs" and batches or 1 -- steps of one unit of `every`
    add_evaluations(cell, work, eval.during, steps // (eval.during.every * unit_steps))
  end
  return work
end

-- Returns M.compute_data_work of a cell; false for cells without a file. The result is stored in cell.data_work.
local function find_file_work(cell)
  if cell.data_work == nil then
    cell.data_work = M.compute_data_work(cell) or false
  end
  return cell.data_work
end

-- Whether the number of steps of a cell's runs is known.
local function has_steps(cell)
  return cell.goal.steps ~= nil or find_file_work(cell) ~= false
end

function M.filter_with_steps(items)
  return lists.filter(items, function(item) return has_steps(item.cell) end)
end

local function get_conditions(options)
  return { device = options.device, threads = options.threads, replicas = options.replicas }
end

-- Calls get_rates(item, group) for the items of each group of cells until a result is not nil. group: the text of
-- make_group_key. Returns these results by group, and as a list.
local function collect_rates(items, get_rates)
  local rates_by_group, all_rates = {}, {}
  for _, item in ipairs(M.filter_with_steps(items)) do
    local group = make_group_key(item.cell)
    if not rates_by_group[group] and #all_rates < MAX_MEASURED_TRAINERS then
      rates_by_group[group] = get_rates(item, group)
      all_rates[#all_rates + 1] = rates_by_group[group]
    end
  end
  return rates_by_group, all_rates
end

-- Returns the measurements that earlier calls have recorded, in the form of collect_rates. options: as for M.format.
local function read_records(items, options)
  return collect_rates(items, function(_, group) return speeds.read(group, get_conditions(options)) end)
end

-- Whether the speed of a trainer is recorded, so that no trainer has to be built for an estimate.
function M.has_records(items, options)
  return #select(2, read_records(items, options)) > 0
end

-- Measures one trainer for each group of cells, and records the results. If no trainer is up to date and can be
-- measured, reads the records of earlier calls. Returns the results in the form of collect_rates, and whether they are
-- records.
local function measure_groups(items, options)
  local rates_by_group, all_rates = collect_rates(items, function(item, group)
    local rates = item.is_fresh and measure(item, options) or nil
    if rates then
      speeds.write(group, get_conditions(options), rates)
    end
    return rates
  end)
  if #all_rates > 0 then
    return rates_by_group, all_rates, false
  end
  rates_by_group, all_rates = read_records(items, options)
  return rates_by_group, all_rates, true
end

local function average_rates(all_rates)
  local function mean(path)
    return statistics.mean(lists.map(all_rates, function(rates) return lists.get(rates, path) end))
  end
  local function mean_line(mode)
    return { step = mean(("lines.%s.step"):format(mode)), operation = mean(("lines.%s.operation"):format(mode)) }
  end
  return { train = mean("train"), eval = mean("eval"), side_by_side = mean("side_by_side"),
    lines = { train = mean_line("train"), eval = mean_line("eval") } }
end

-- Returns the seconds of training and of evaluation that remain for these runs. lines: from `measure`.
local function estimate_on_files(cell, runs, lines)
  local work, train, eval = cell.data_work, 0, 0
  local train_seconds = lines.train.step * work.steps + lines.train.operation * work.train
  local eval_seconds = lines.eval.step * work.passes + lines.eval.operation * work.eval
  for _, run in ipairs(runs) do
    local done_share = math.min(1, ledger.read_progress(run.path, cell.goal).step / math.max(1, work.steps))
    train, eval = train + (1 - done_share) * train_seconds, eval + eval_seconds
  end
  return train, eval
end

-- Returns the seconds of training and of evaluation that remain for runs of a cell. rates: from `measure`.
local function estimate_seconds(cell, runs, rates)
  local train_work, eval_work, goal = 0, 0, cell.goal -- operations
  if find_file_work(cell) then
    return estimate_on_files(cell, runs, rates.lines)
  end
  for _, run in ipairs(runs) do
    local done_work = ledger.read_progress(run.path, goal).work
    train_work = train_work + goal.train_work - math.min(done_work, goal.train_work)
    eval_work = eval_work + goal.work - goal.train_work - math.max(0, done_work - goal.train_work)
  end
  return train_work / rates.train, eval_work / rates.eval
end

-- Sums the remaining work of cells. seconds_left: { [cell] = { train, eval } }. Returns
--   cells, runs           the numbers of cells and of missing runs
--   train, eval           the seconds of training and of evaluation
--   without_steps_count   the number of cells whose number of steps is unknown
local function sum_seconds(cells, seconds_left)
  local function sum(mode)
    return lists.sum(cells, function(cell) return seconds_left[cell][mode] end)
  end
  return { cells = #cells, runs = lists.sum(cells, function(cell) return #cell.missing end), train = sum("train"),
    eval = sum("eval"), without_steps_count = lists.count(cells, function(cell) return not has_steps(cell) end) }
end

local function format_duration(sums, seconds)
  if sums.without_steps_count == 0 then
    return wording.format_duration(seconds)
  end
  return sums.without_steps_count == sums.cells and "not known" or "over " .. wording.format_duration(seconds)
end

local function format_row(name, sums)
  return ("%-34s %6d %6d %12s %12s"):format(name, sums.cells, sums.runs, format_duration(sums, sums.train),
    format_duration(sums, sums.eval))
end

-- Returns the lines of a table with a row for each value of each axis, and the sums of all cells.
local function format_table(study, rates_by_group, mean_rates)
  local seconds_left = {}
  for _, cell in ipairs(study.cells) do
    seconds_left[cell] = { train = 0, eval = 0 }
    if has_steps(cell) then
      local rates = rates_by_group[make_group_key(cell)] or mean_rates
      seconds_left[cell].train, seconds_left[cell].eval = estimate_seconds(cell, cell.missing, rates)
    end
  end
  local lines = { ("%-34s %6s %6s %12s %12s"):format("", "cells", "runs", "training", "evaluation") }
  for axis, value in lists.iterate_nested(study.axes, "values") do
    local cells = lists.filter(study.cells, function(cell) return cell.key[axis.name] == value end)
    lines[#lines + 1] = cells[1] and format_row(axis.name .. " " .. value, sum_seconds(cells, seconds_left)) or nil
  end
  local total = sum_seconds(study.cells, seconds_left)
  lines[#lines + 1] = format_row("in total", total)
  return lines, total
end

-- Returns a function get_seconds(cell, runs), or nil if no trainer could be measured. get_seconds returns the seconds
-- that one process needs for these runs of the cell; nil if the cell's number of steps is unknown. options: as for
-- M.format, and
--   max_concurrent        the maximum number of concurrent runs in the process
--   max_concurrent_here   the maximum number of concurrent runs on this machine, where trainers are measured
function M.make_timer(items, options)
  local rates_by_group, all_rates = measure_groups(items, options)
  local mean_rates = average_rates(all_rates)
  return #all_rates > 0 and function(cell, runs)
    if not has_steps(cell) then
      return nil
    end
    local rates = rates_by_group[make_group_key(cell)] or mean_rates
    local train, eval = estimate_seconds(cell, runs, rates)
    local speedup = math.min(#runs, options.max_concurrent)
      / math.min(rates.side_by_side, options.max_concurrent_here)
    return (train + eval) / speedup
  end or nil
end

-- Returns the lines of the estimate, and a list of notes on scaled speeds and on work that the estimate leaves out; nil
-- if no trainer could be measured.
-- options: threads; replicas, the maximum number of concurrent runs; device.
function M.format(study, items, options)
  study = setmetatable({ cells = lists.filter(study.cells, function(cell) return cell.spec end) }, { __index = study })
  local rates_by_group, all_rates, are_records = measure_groups(items, options)
  if #all_rates == 0 and #M.filter_with_steps(items) > 0 then
    return nil
  end
  local lines, total = format_table(study, rates_by_group, average_rates(all_rates))
  if total.without_steps_count < total.cells then
    lines[#lines + 1] = ("%s %s on this machine, %s"):format(total.without_steps_count == 0 and "about" or "more than",
      wording.format_duration(total.train + total.eval), wording.count(options.threads, "thread"))
  end
  lines[#lines + 1] = #all_rates > 0 and (are_records and "measured earlier:" or "measured:") or nil
  local notes = {}
  local scaled_count = lists.count(study.cells, function(cell)
    return has_steps(cell) and not rates_by_group[make_group_key(cell)]
  end)
  for _, rates in ipairs(all_rates) do
    lines[#lines + 1] = ("  %s: %.1f steps/s at length %d"):format(rates.id, rates.steps, rates.length)
  end
  if scaled_count > 0 then
    notes[#notes + 1] = ("%s of other encodings or models: scaled from the measured cells by their operations"):format(
      wording.count(scaled_count, "cell"))
  end
  if total.without_steps_count > 0 then
    notes[#notes + 1] = ("not counted: %s trained for epochs, whose number of steps only the trainer knows"):format(
      wording.count(total.without_steps_count, "cell"))
  end
  return lines, notes
end

return M
