-- Axes: properties of dataset examples, such as the number of digits. An evaluation groups examples by axes.
--
-- Input: the names of axes in a spec; the context of validate.lua with the resolved spec and the task's facts. Output:
-- the field `axes` of the facts of a task (tasks.lua); errors in the diagnostics.

local diagnostics = require("base.diagnostics")
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local similar_names = require("base.similar_names")

local M = {}

M.MAX_VALUE = 1000000000 -- LH_LARGEST_VALUE of runtime/data/datasets/corpus.h
M.MAX_AXES = 4 -- LH_MAX_AXES
M.NOISE = "noise" -- in eval.by, but not an axis of data: noise that is added to embeddings
M.PASSES = "passes" -- in eval.by, but not an axis of data: the number of passes of a model with loops
M.SETTINGS = { M.NOISE, M.PASSES } -- entries of eval.by that are settings of the model, not axes of the data
M.IS_SETTING = lists.to_set(M.SETTINGS)
M.MAX_PASSES = 10000
M.MAX_NOISE = 1e6 -- the largest standard deviation of noise
M.TRAINED = "trained" -- whether an example is in the training set; files have this axis even if task.axes lacks it
-- The axis `frame`: the number of digits to which numbers are padded; 0: no padding. A task generates examples for the
-- requested frames, so its spec cannot request all frames by `true`.
M.FRAME = "frame"
local IS_LIMITED_BY_FRAME = { digits = true, carry = true } -- axes whose values a frame limits

-- Names that an axis cannot have: keys of examples and of eval.jsonl, and columns of tables of python/longhand.
M.IS_KEY = lists.split_set([[input target mask positions length step split set by examples batch draws accuracy
  exact_match loss sd_over_draws id digest task encoding seed learning_rate beyond novel noise passes stop of order
  decoding counted greedy_examples
  accuracy_teacher_forced exact_match_low exact_match_high ended_early not_ended sd_over_sequences
  data places]])

-- The axes that a spec names for its files of examples. node: the node of the list of names.
function M.read_named(context, names, node)
  for i, item in ipairs(names and node.items or {}) do
    if M.IS_KEY[item.value] then
      context.diagnostics:add({ at = item.origin, field = locate.join("task.axes", i),
        what = ("%s is already a key of examples or results"):format(diagnostics.show(item.value)),
        expected = "another name" })
    end
  end
  return names and lists.map(names, function(name) return { name = name, first = 0, last = M.MAX_VALUE } end)
end

-- The axis with this name if the task or the spec declares it, or nil.
function M.find_declared(facts, name)
  return lists.find(facts.axes or {}, function(axis) return axis.name == name end)
end

-- Returns the axis with this name, or nil. Every dataset has the axis `length`; files also have `trained`.
local function find_axis(facts, name)
  local axis = M.find_declared(facts, name)
  if not axis and name == M.TRAINED and not facts.data.is_generated then
    return { name = name, first = 0, last = 1 }
  elseif not axis and name == "length" then
    return { name = name, first = 1, last = M.MAX_VALUE }
  end
  return axis
end

-- The name of the task, or the field that declares the axes of files, for messages.
local function name_source(facts)
  return facts.data.is_generated and facts.kind or "task.axes"
end

local function report_unknown_axis(facts, report, path, name)
  local implied_name = not facts.data.is_generated and not M.find_declared(facts, M.TRAINED) and M.TRAINED or nil
  local names = lists.join({ "length" }, lists.join(lists.get_names(facts.axes or {}), { implied_name }))
  report.add({ path .. "." .. name, path }, {
    what = ("%s has no axis %s"):format(name_source(facts), diagnostics.show(name)),
    expected = table.concat(names, ", "), hint = similar_names.make_hint(name, names) })
end

-- Returns the requested values of an axis: a list, or the two ends of a range; empty if all values are requested.
-- request: an entry of eval.by.
local function list_values(request)
  return type(request) == "table" and (request.list or { request.first, request.last }) or {}
end

-- Returns the axis with the values that an evaluation may request. An axis of IS_LIMITED_BY_FRAME ends at the widest
-- requested frame, if this frame exceeds the axis. by: the value of eval.by.
local function widen_axis(axis, by)
  local frames = list_values(by[M.FRAME])
  local max_frame = frames[#frames] or 0
  return IS_LIMITED_BY_FRAME[axis.name] and max_frame > axis.last
    and lists.merge(axis, { last = max_frame, hint = false }) or axis
end

local function check_values(report, path, axis, request)
  for i, value in ipairs(list_values(request)) do
    if value < axis.first or value > axis.last then
      return report.add({ locate.join(request.list and path .. ".list" or path, i), path }, {
        what = ("%d is out of range"):format(value),
        expected = ("from %d to %d: %s"):format(axis.first, axis.last, axis.doc or "values of examples"),
        hint = value > axis.last and axis.hint or nil })
    end
  end
end

-- Checks the axes of `by` and their requested values. path: the path of `by`.
local function check_by(facts, report, path, by)
  local count = 0
  for name, request in next, by do
    local axis, axis_path = find_axis(facts, name), path .. "." .. name
    if not M.IS_SETTING[name] then
      count = count + 1
      if not axis then
        report_unknown_axis(facts, report, path, name)
      elseif name == M.FRAME and request == true and facts.data.is_generated then
        report.add({ axis_path, path }, { what = "the value `true` does not determine which frames to generate",
          expected = "{ list = { 0, 80 } } or { 80, 120, step = 20 }: digits of a padded number, 0 for no padding" })
      else
        check_values(report, axis_path, widen_axis(axis, by), request)
      end
    end
  end
  if count > M.MAX_AXES then
    report.add({ path }, { what = ("%d axes at once"):format(count), expected = ("at most %d"):format(M.MAX_AXES) })
  end
end

local function check_splits(facts, report, path, splits)
  for i, name in ipairs(facts.sets and splits or {}) do
    if not lists.has(facts.sets, name) then
      report.add({ locate.join(path, i), path }, { what = ("%s has no set %s"):format(facts.kind,
        diagnostics.show(name)), expected = table.concat(facts.sets, ", ") })
    end
  end
end

-- Refuses eval.novel in a spec if examples do not record whether they are in the training set.
local function check_novel(facts, report)
  if report.find_origin("eval.novel") and not M.find_declared(facts, M.TRAINED) then
    report.add({ "eval.novel" }, { what = ("%s does not mark the examples of training"):format(
      facts.data and name_source(facts) or facts.kind),
      expected = "a task with an axis `trained`: ./longhand list tasks, or task.axes of files" })
  end
end

-- Refuses settings of the model in evaluations during training.
local function check_settings(eval, report)
  local name = report.find_origin("eval.during.by") and lists.find(M.SETTINGS, function(setting)
    return lists.get(eval, "during.by." .. setting) ~= nil
  end)
  if name then
    local path = "eval.during.by." .. name
    report.add({ path, "eval.during.by" }, {
      what = name == M.NOISE and "evaluations during training have no noise"
        or "evaluations during training have as many passes as training",
      expected = ("eval.by.%s, for the evaluation after training"):format(name) })
  end
end

-- Returns the entries of eval.by without settings of the model; nil if no entry is left.
function M.remove_settings(by)
  local axes_of_data = lists.merge(by or {})
  for _, name in ipairs(M.SETTINGS) do
    axes_of_data[name] = nil
  end
  return next(axes_of_data) and axes_of_data or nil
end

-- Refuses eval.order, and "all" as a number of examples, for samplers: sampled examples have no order and no end.
local function check_examples(eval, report)
  for path, value in next, { ["eval.examples"] = eval.examples, ["eval.during.examples"] = (eval.during or {}).examples,
    ["eval.order"] = eval.order } do
    if type(value) == "string" and report.find_origin(path) then
      report.add({ path }, { what = ("%s cannot be used with a sampler"):format(diagnostics.show(value)),
        expected = path == "eval.order" and "a fixed set of examples, which has an order"
          or "a number; only a fixed set of examples has an end" })
    end
  end
end

-- Checks the axes and sets that an evaluation requests. report: the functions of rules/reports.lua.
function M.check(context, report)
  local eval, facts = context.resolved.eval, context.task
  if not facts then
    return
  end
  check_novel(facts, report)
  check_settings(eval, report)
  if not facts.data then
    check_examples(eval, report)
  end
  for _, path in ipairs({ "eval", "eval.during" }) do
    local section = path == "eval" and eval or eval.during or {}
    local function refuse(name, other_words)
      report.add({ path .. name }, { what = "cannot be used with a sampler",
        expected = path .. ".lengths; axes and sets need a fixed set of examples" .. other_words })
    end
    if not facts.data and M.remove_settings(section.by) then
      refuse(".by", "; for a sampler, eval.by can have only noise and passes")
    end
    if not facts.data and section.splits then
      refuse(".splits", "")
    elseif facts.data then
      check_by(facts, report, path .. ".by", report.find_origin(path .. ".by") and section.by or {})
      check_splits(facts, report, path .. ".splits", report.find_origin(path .. ".splits") and section.splits)
    end
  end
end

return M
