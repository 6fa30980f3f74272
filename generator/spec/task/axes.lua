-- Axes: numbers that examples of finite data have besides their lengths, and what an evaluation asks of them.
--
-- Input: names of a spec; the context of validate.lua with the resolved spec and the task's facts. Output: axes as
-- tasks.lua gives those of a header; errors in the diagnostics.

local diagnostics = require("base.diagnostics")
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local nearest = require("base.nearest")

local M = {}

M.LARGEST = 1000000000 -- LH_LARGEST_VALUE of runtime/data/finite/corpus.h
M.MOST = 4 -- LH_MOST_AXES
M.NOISE = "noise" -- in eval.by, but an axis of no data: what is added to embeddings
M.LOUDEST = 1e6
M.TRAINED = "trained" -- of files also where no line says it: whether an example is among those of training
M.FRAME = "frame" -- what is made for the values that are asked for: there is no all of it
local IN_FRAME = { digits = true, carry = true } -- axes that a frame bounds

-- What no axis can be called: keys of examples, of lines of eval.jsonl, and of tables of them (python/longhand.py).
M.IS_KEY = {}
for key in ([[input target mask length step split set by examples batch draws accuracy exact_match loss sd_over_draws
  id digest task encoding seed learning_rate beyond novel noise of order decoding greedy_examples counted
  accuracy_teacher_forced exact_match_low exact_match_high ended_early not_ended sd_over_sequences
  data]]):gmatch("%S+") do
  M.IS_KEY[key] = true
end

-- Axes that a file of the user's own has, named by the spec; node: of that list.
function M.named(context, names, node)
  for i, item in ipairs(names and node.items or {}) do
    if M.IS_KEY[item.value] then
      context.diagnostics:add({ at = item.origin, field = locate.join("task.axes", i),
        what = ("%s is a key of its own"):format(diagnostics.show(item.value)), expected = "another name" })
    end
  end
  return names and lists.map(names, function(name) return { name = name, first = 0, last = M.LARGEST } end)
end

-- Adds an error at the first of the paths that was written somewhere.
local function add(context, paths, record)
  record.field = paths[1]
  record.at = context.root.origin
  for i = #paths, 1, -1 do
    local origin = context.origins[paths[i]]
    record.at = origin and not origin.default and origin or record.at
  end
  context.diagnostics:add(record)
end

-- An axis that examples say something on.
local function own(facts, name)
  return lists.find(facts.axes or {}, function(axis) return axis.name == name end)
end

local function find(facts, name)
  local axis = own(facts, name)
  if not axis and name == M.TRAINED and not facts.data.made then
    return { name = name, first = 0, last = 1 }
  end
  return axis or name == "length" and { name = name, first = 1, last = M.LARGEST } or nil
end

local function names_of(facts)
  return lists.join({ "length" }, lists.join(lists.names(facts.axes or {}),
    { not facts.data.made and not own(facts, M.TRAINED) and M.TRAINED or nil }))
end

local function what_of(facts)
  return facts.data.made and facts.kind or "task.axes"
end

local function check_name(context, path, name)
  local names = names_of(context.task)
  add(context, { path .. "." .. name, path }, {
    what = ("%s has no axis %s"):format(what_of(context.task), diagnostics.show(name)),
    expected = table.concat(names, ", "), hint = nearest.hint(name, names) })
end

-- The values that an evaluation names of an axis, the least first; it may ask for all there are.
local function named_values(wanted)
  return type(wanted) == "table" and (wanted.list or { wanted.first, wanted.last }) or {}
end

-- An axis as far as this evaluation's frames go: wider ones have room for more digits, and for longer carries.
local function in_frames(axis, by)
  local frames = named_values(by[M.FRAME])
  local widest = frames[#frames] or 0
  return IN_FRAME[axis.name] and widest > axis.last and lists.merged(axis, { last = widest, hint = false }) or axis
end

-- Values that are past what the axis has.
local function check_values(context, path, axis, wanted)
  for i, value in ipairs(named_values(wanted)) do
    if value < axis.first or value > axis.last then
      add(context, { locate.join(wanted.list and path .. ".list" or path, i), path }, {
        what = ("%d is past what there is"):format(value),
        expected = ("from %d to %d: %s"):format(axis.first, axis.last, axis.doc or "what examples say"),
        hint = value > axis.last and axis.hint or nil })
      return
    end
  end
end

local function check_by(context, path, by)
  local count = 0
  for name, wanted in next, by or {} do
    local axis, at = find(context.task, name), path .. "." .. name
    if name ~= M.NOISE then
      count = count + 1
      if not axis then
        check_name(context, path, name)
      elseif name == M.FRAME and wanted == true and context.task.data.made then
        add(context, { at, path }, { what = "true does not say which frames",
          expected = "{ list = { 0, 80 } } or { 80, 120, step = 20 }: places of a number, 0 for no padding" })
      else
        check_values(context, at, in_frames(axis, by), wanted)
      end
    end
  end
  if count > M.MOST then
    add(context, { path }, { what = ("%d axes at once"):format(count), expected = ("at most %d"):format(M.MOST) })
  end
end

local function check_splits(context, path, splits)
  local sets = context.task.sets
  for i, name in ipairs(sets and splits or {}) do
    if not lists.has(sets, name) then
      add(context, { locate.join(path, i), path }, { what = ("%s has no set %s"):format(context.task.kind,
        diagnostics.show(name)), expected = table.concat(sets, ", ") })
    end
  end
end

-- A value that the spec has, and not another field's as its default.
local function given(context, path, value)
  local origin = context.origins[path]
  return origin and not origin.default and value or nil
end

-- Only examples that say so can be left out for having been trained on.
local function check_novel(context, facts)
  if given(context, "eval.novel", true) and not own(facts, M.TRAINED) then
    add(context, { "eval.novel" }, { what = ("%s does not say which examples are trained on"):format(
      facts.data and what_of(facts) or facts.kind),
      expected = "finite data with an axis `trained`: ./longhand list tasks, or task.axes of files" })
  end
end

-- Noise is for the evaluation at the end.
local function check_noise(context, eval)
  local during = given(context, "eval.during.by", eval.during and eval.during.by)
  if during and during.noise then
    add(context, { "eval.during.by.noise", "eval.during.by" }, { what = "there is no noise while training",
      expected = "eval.by.noise, for the evaluation at the end" })
  end
end

-- Whether it names anything but noise, which samplers have as well.
local function names_axes(by)
  for name in next, by or {} do
    if name ~= M.NOISE then
      return true
    end
  end
  return false
end

-- A sampler's examples have neither an end nor an order.
local function check_examples(context, eval)
  for path, value in next, { ["eval.examples"] = eval.examples, ["eval.during.examples"] = (eval.during or {}).examples,
    ["eval.order"] = eval.order } do
    if type(value) == "string" and given(context, path, value) then
      add(context, { path }, { what = ("%s does not go with a sampler"):format(diagnostics.show(value)),
        expected = path == "eval.order" and "finite data, which has an order"
          or "a number; only finite data has an end" })
    end
  end
end

-- What an evaluation goes by, and of which sets, against what the task has.
function M.check(context)
  local eval, facts = context.resolved.eval, context.task
  if not facts then
    return
  end
  check_novel(context, facts)
  check_noise(context, eval)
  if not facts.data then
    check_examples(context, eval)
  end
  for _, path in ipairs({ "eval", "eval.during" }) do
    local section = path == "eval" and eval or eval.during or {}
    for _, name in ipairs(not facts.data and { "by", "splits" } or {}) do
      if name == "by" and names_axes(section.by) or name == "splits" and section.splits then
        add(context, { path .. "." .. name }, { what = "does not go with a sampler",
          expected = path .. ".lengths; only finite data has other axes and sets"
            .. (name == "by" and ", a sampler noise alone" or "") })
      end
    end
    if facts.data then
      check_by(context, path .. ".by", given(context, path .. ".by", section.by))
      check_splits(context, path .. ".splits", given(context, path .. ".splits", section.splits))
    end
  end
end

return M
