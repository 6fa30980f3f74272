-- Rules about the passes of a model with loops, which runs its blocks several times: model.loops and eval.by.passes.
--
-- Input of M.check: the context of validate.lua; report, the functions of reports.lua. Output: errors, through report.

local axes = require("spec.task.axes")
local is_causal = require("spec.rules.features").is_causal
local lists = require("base.lists")
local tasks = require("spec.task.tasks")

local M = {}

local PASSES = "eval.by." .. axes.PASSES

-- Refuses model.loops.times because of another field.
local function refuse_times(context, report, other_path, value, message, expected)
  report.refuse("model.loops.times", other_path, value, { what = ("%q: %s"):format(
    context.resolved.model.loops.times, message), expected = expected .. ", or a number as times" })
end

-- Checks times = "length": an example has as many passes as its task length.
local function check_by_length(context, report)
  local lengths = tasks.list_lengths(context.resolved.train.lengths)
  if context.task and context.task.data then
    refuse_times(context, report, "task", context.task.kind,
      "examples of a fixed set have an index in place of a length", "the name of an axis of the task")
  elseif #lengths > 0 and lists.max(lengths, function(n) return n end) < 2 then
    refuse_times(context, report, "train.lengths", "1", "no example has two passes", "longer training lengths")
  end
end

-- Checks a `times` that names an axis: an example has as many passes as its value on the axis.
local function check_by_axis(context, report, loops)
  local facts = context.task
  local axis = facts and axes.find_declared(facts, loops.times)
  if facts and not axis then
    local names = lists.get_names(facts.axes or {})
    refuse_times(context, report, "task", facts.kind, ("%s has no such axis"):format(facts.kind),
      names[1] and table.concat(names, ", ") or '"length"')
  elseif axis and not loops.max_times then
    report.add({ "model.loops.times" }, { what = ("%q: the maximum number of passes in training is missing"):format(
      loops.times), expected = "model.loops.max_times" })
  end
end

-- Checks a `times` that is a word: each example determines its number of passes.
local function check_by_example(context, report, loops)
  if is_causal(context.resolved) then
    refuse_times(context, report, "model.kind", '"decoder"', "a decoder caches the keys of a fixed number of passes",
      'model.kind = "encoder"')
  elseif loops.times == "length" then
    check_by_length(context, report)
  else
    check_by_axis(context, report, loops)
  end
  if loops.progressive then
    report.refuse("model.loops.progressive", "model.loops.times", ("%q"):format(loops.times), {
      what = "progressive training samples one number of passes for a batch, but times gives a number to each example",
      expected = "a number as times, or progressive = false" })
  end
end

local function check_loops(context, report)
  local resolved = context.resolved
  local model = resolved.model
  local loops = model.loops
  if model.source then
    report.refuse("model.loops", "model.source", ("%q"):format(model.source), {
      what = "a network of your own has loops of its own",
      expected = "net:block(name, count, comment, { loops = 3 }) in its file, and no model.loops in the spec" })
  end
  if loops.start ~= "embedding" and loops.inject == false then
    report.refuse("model.loops.start", "model.loops.inject", "false", {
      what = ("%q: no pass reads the tokens"):format(loops.start),
      expected = 'inject = true, or start = "embedding"' })
  end
  if loops.deviation and loops.start ~= "noise" then
    report.refuse("model.loops.deviation", "model.loops.start", ("%q"):format(loops.start), {
      what = "there is no noise", expected = 'start = "noise", or no deviation' })
  end
  if loops.norm == "inside" and lists.get(model, "norm.place") ~= "pre" then
    report.refuse("model.loops.norm", "model.norm.place", '"post"', {
      what = '"inside" puts the final norm into every pass, but norm.place = "post" has no final norm',
      expected = 'model.norm.place = "pre", or norm = "outside"' })
  end
  if loops.loss == "every" and lists.get(model, "norm.place") == "pre" and loops.norm ~= "inside" then
    report.refuse("model.loops.loss", "model.loops.norm", '"outside"', {
      what = '"every" computes a loss after each pass, but the final norm follows only the last pass',
      expected = 'norm = "inside", or loss = "last"' })
  end
  if loops.loss == "every" and model.output == "feedforward" then
    report.refuse("model.loops.loss", "model.output", '"feedforward"', {
      what = '"every" computes a loss after each pass, but the feed-forward part follows only the last pass',
      expected = 'output = "linear", or loss = "last"' })
  end
  if loops.loss == "every" and loops.progressive then
    report.refuse("model.loops.loss", "model.loops.progressive", "true", {
      what = '"every" computes a loss after each pass, but progressive training only after the last pass',
      expected = 'progressive = false, or loss = "last"' })
  end
  if resolved.eval.dropout then
    report.refuse("eval.dropout", "model.loops.times", loops.times, {
      what = "evaluation may have more passes than training, and the additional passes have no dropout masks",
      expected = "false, or no model.loops" })
  end
  local names_axis = type(loops.times) == "string" and loops.times ~= "length"
  if loops.max_times and not names_axis then
    report.refuse("model.loops.max_times", "model.loops.times", ('"%s"'):format(loops.times), {
      what = "times determines the maximum already", expected = "the name of an axis in times, or no max_times" })
  end
  if type(loops.times) == "string" then
    check_by_example(context, report, loops)
  end
end

local function check_passes(resolved, report)
  local by = resolved.eval.by
  if not resolved.model.loops then
    report.add({ PASSES, "eval.by" }, { what = "the model has no loops", expected = "model.loops" })
  elseif by[axes.NOISE] then
    report.add({ PASSES, "eval.by" }, { what = "cannot be used with eval.by.noise",
      expected = "one of the two fields" })
  elseif is_causal(resolved) and resolved.eval.decoding ~= "teacher_forced" then
    report.add({ PASSES, "eval.by" }, {
      what = "greedy decoding caches the keys of each pass of the loop, so the number of passes cannot change",
      expected = 'eval.decoding = "teacher_forced", or model.kind = "encoder"' })
  end
end

function M.check(context, report)
  local resolved = context.resolved
  if resolved.model.loops then
    check_loops(context, report)
  end
  if lists.get(resolved, PASSES) then
    check_passes(resolved, report)
  end
end

return M
