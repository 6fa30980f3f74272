-- Evaluations: the lines of eval.jsonl of one set, put together.
--
-- Input: rows as evaluation_lines.lua gives them. Output: an evaluation { split, step, examples, draws, lengths,
-- counts, decoding, data, mixed, conditions, weighted, parts, uncounted } with a list for each of M.MEASURES that some
-- line has, in the order of lengths, "" where a line has none, exact_match and loss as text; counts are the examples of
-- each, uncounted is true of those without anything that counts. Where the evaluation went by other axes than length,
-- lengths are the numbers on the first, conditions has { by, examples, beyond, trained } and the measures of each line,
-- and the lists are the means over those that share a number on the first axis, or what a condition of that number
-- alone has. weighted: a score is the mean over examples, not over lengths.
-- counts are the examples of each; totals, where a cap took fewer than there are, how many there are.
-- Invariants: the last step counts, and of a condition the last line.

local axes = require("spec.task.axes")
local canonical = require("base.canonical")

local M = {}

M.MEASURES = { "accuracy", "accuracy_teacher_forced", "exact_match", "exact_match_low", "exact_match_high", "loss",
  "ended_early", "not_ended", "sd_over_sequences" }
M.SPLITS = { "in_distribution", "between", "beyond", "train", "test", "validation" }
local ALWAYS = { "accuracy", "exact_match", "loss" }
-- What has a mean over conditions.
local JOINED = { "accuracy", "accuracy_teacher_forced", "exact_match", "loss", "ended_early", "not_ended" }
local AS_TEXT = { exact_match = true, loss = true }

local function begin(row)
  local evaluation = { split = row.split, step = row.step, examples = row.examples, draws = row.draws,
    decoding = row.decoding, data = row.data, places = {}, lengths = {}, counts = {} }
  for _, name in ipairs(ALWAYS) do
    evaluation[name] = {}
  end
  return evaluation
end

local function add_condition(evaluation, place, row)
  local condition = { by = row.by, examples = row.examples, trained = row.trained, beyond = row.beyond }
  for _, name in ipairs(M.MEASURES) do
    condition[name] = row[name]
  end
  evaluation.conditions = evaluation.conditions or {}
  evaluation.conditions[place] = condition
end

-- Adds one line to of[split]. of.axis: the first axis that the run's evaluations go by.
function M.add(of, row)
  local evaluation, n = of[row.split], row.by and row.by[of.axis] or of.axis == "length" and row.length
  if not n and row.length then
    return -- by length, where the run goes by other axes: somebody asked for it
  elseif not evaluation or row.step > evaluation.step then
    evaluation = begin(row)
    of[row.split] = evaluation
  elseif row.step < evaluation.step then
    return
  end
  local key = row.by and canonical.text(row.by) or row.length
  local place = evaluation.places[key] or #evaluation.lengths + 1
  evaluation.places[key], evaluation.data = place, evaluation.data or row.data
  evaluation.mixed = evaluation.mixed or row.examples ~= evaluation.examples or row.draws ~= evaluation.draws
  evaluation.lengths[place], evaluation.counts[place] = n or 0, row.examples
  if row.of or evaluation.totals then
    evaluation.totals = evaluation.totals or {}
    evaluation.totals[place] = row.of or row.examples
  end
  for _, name in ipairs(M.MEASURES) do
    if row[name] ~= nil then
      evaluation[name] = evaluation[name] or {}
      evaluation[name][place] = row[name]
    elseif evaluation[name] then
      evaluation[name][place] = nil
    end
  end
  if row.by and not (row.length and next(row.by, next(row.by)) == nil) then
    add_condition(evaluation, place, row)
  elseif row.beyond then
    evaluation.beyond = evaluation.beyond or {}
    evaluation.beyond[place] = true
  end
  if row.counted == 0 or evaluation.uncounted then
    evaluation.uncounted = evaluation.uncounted or {}
    evaluation.uncounted[place] = row.counted == 0
  end
end

-- The numbers on the first axis that a condition has alone: finer ones beside it have examples of their own.
local function alone(evaluation, axis)
  local whole = {}
  for _, condition in pairs(evaluation.conditions) do
    local n = condition.by[axis]
    if n and next(condition.by, next(condition.by)) == nil then
      whole[n] = true
    end
  end
  return whole
end

-- Whether a condition is of another frame than that of training: it is told apart, and counts nowhere else.
local function is_framed(by)
  return by[axes.FRAME] ~= nil and next(by, next(by)) ~= nil
end

-- How many examples a line speaks for: those that there are, of which a cap may have taken fewer.
function M.weight(evaluation, place)
  return evaluation.totals and evaluation.totals[place] or evaluation.counts[place]
end

-- Sums of measures over the conditions of a number, and the mean of each.
local function add_sums(sums, evaluation, i, weight)
  sums.count = sums.count + weight
  for _, name in ipairs(JOINED) do
    local value = evaluation[name] and tonumber(evaluation[name][i])
    if value then
      sums.value[name] = (sums.value[name] or 0) + weight * value
      sums.weight[name] = (sums.weight[name] or 0) + weight
    end
  end
end

local function mean_of(sums, name)
  local weight = sums.weight[name] or 0
  local mean = weight > 0 and sums.value[name] / weight
  return mean and (AS_TEXT[name] and ("%.9g"):format(mean) or mean) or ""
end

-- Takes conditions that share a number on the first axis together: means over their examples. They stand side by side.
local function join(evaluation, axis)
  local list, whole = {}, alone(evaluation, axis)
  for i, n in ipairs(evaluation.lengths) do
    local by = evaluation.conditions[i].by
    if not is_framed(by) then
      if #list == 0 or list[#list].n ~= n then
        list[#list + 1] = { n = n, count = 0, value = {}, weight = {} }
      end
      local extra = whole[n] and next(by, next(by))
      add_sums(list[#list], evaluation, i, extra and 0 or M.weight(evaluation, i))
      list[#list].examples = (list[#list].examples or 0) + (extra and 0 or evaluation.counts[i])
    end
  end
  local had = {}
  for _, name in ipairs(M.MEASURES) do
    had[name], evaluation[name] = evaluation[name] ~= nil, nil
  end
  local uncounted = evaluation.uncounted and {}
  local totals = evaluation.totals and {}
  evaluation.lengths, evaluation.counts, evaluation.totals, evaluation.uncounted = {}, {}, totals, uncounted
  for i, sums in ipairs(list) do
    if uncounted then
      uncounted[i] = next(sums.weight) == nil
    end
    evaluation.lengths[i], evaluation.counts[i] = sums.n, sums.examples
    if totals then
      totals[i] = sums.count
    end
    for _, name in ipairs(JOINED) do
      if had[name] then
        evaluation[name] = evaluation[name] or {}
        evaluation[name][i] = mean_of(sums, name)
      end
    end
  end
  for _, name in ipairs(ALWAYS) do
    evaluation[name] = evaluation[name] or {}
  end
end

local FACTS = { "step", "examples", "draws", "decoding", "data", "mixed", "weighted" }
local LISTS = { "lengths", "counts", "totals", "conditions", "beyond", "uncounted", table.unpack(M.MEASURES) }

-- The lines of an evaluation at some places, as an evaluation of its own.
local function pick(evaluation, split, places)
  local made = { split = split }
  for _, name in ipairs(FACTS) do
    made[name] = evaluation[name]
  end
  for _, name in ipairs(LISTS) do
    local list = evaluation[name] and {}
    for i, place in ipairs(list and places or {}) do
      list[i] = evaluation[name][place]
    end
    made[name] = list
  end
  return made
end

-- Places in the order of lengths, where an evaluation was made in pieces.
local function ordered(evaluation)
  local order = {}
  for place in ipairs(evaluation.lengths) do
    order[place] = place
  end
  table.sort(order, function(a, b)
    local x, y = evaluation.lengths[a], evaluation.lengths[b]
    return x < y or x == y and a < b
  end)
  return order
end

local function is_sorted(evaluation)
  for i = 2, #evaluation.lengths do
    if evaluation.lengths[i - 1] > evaluation.lengths[i] then
      return false
    end
  end
  return true
end

-- Fills what single lines lack.
local function complete(evaluation, axis)
  for place, n in ipairs(evaluation.lengths) do
    for _, name in ipairs(M.MEASURES) do
      if evaluation[name] and evaluation[name][place] == nil then
        evaluation[name][place] = ""
      end
    end
    if evaluation.conditions and not evaluation.conditions[place] then
      evaluation.conditions[place] = { by = { [axis] = n }, examples = evaluation.counts[place],
        accuracy = evaluation.accuracy[place], exact_match = evaluation.exact_match[place] }
    end
    if evaluation.totals then
      evaluation.totals[place] = M.weight(evaluation, place)
    end
    for _, name in ipairs({ "beyond", "uncounted" }) do
      if evaluation[name] and evaluation[name][place] == nil then
        evaluation[name][place] = false
      end
    end
  end
end

-- The axes on which a line is beyond training, as a text: "length", "digits and width"; false where it is on none.
-- reach: the longest training length, of lines that are older than the list of these axes.
local function beyond_text(evaluation, place, reach)
  local condition = evaluation.conditions and evaluation.conditions[place]
  local names = condition and condition.beyond
  if not condition then
    return (evaluation.beyond and evaluation.beyond[place] or reach and evaluation.lengths[place] > reach) and "length"
  elseif not names or #names == 0 then
    return false
  end
  names = table.move(names, 1, #names, 1, {})
  table.sort(names)
  return table.concat(names, " and ")
end

-- The parts of an evaluation of finite data: { in_distribution, beyond, axes = { { name, evaluation }, ... } }, axes by
-- those on which they are beyond, where they are several. nil where nothing says what training reached.
local function parts_of(evaluation, axis, reach)
  local places, names, within = {}, {}, {}
  for place in ipairs(evaluation.lengths) do
    local text = beyond_text(evaluation, place, reach)
    if text and not places[text] then
      places[text], names[#names + 1] = {}, text
    end
    table.insert(text and places[text] or within, place)
  end
  local all, parts = {}, { axes = {} }
  table.sort(names)
  local function make(name, list)
    local made = #list > 0 and pick(evaluation, name, list) or nil
    if made and made.conditions then
      join(made, axis)
    end
    return made
  end
  for i, name in ipairs(names) do
    table.move(places[name], 1, #places[name], #all + 1, all)
    parts.axes[i] = { name = "beyond " .. name, evaluation = make("beyond " .. name, places[name]) }
  end
  table.sort(all)
  parts.in_distribution, parts.beyond = make("in_distribution", within), make("beyond", all)
  parts.axes = #names > 1 and parts.axes or nil
  return parts
end

-- Finishes the evaluations of a run, or of one loudness of its noise, once all lines were added. finite: its splits are
-- the sets of finite data, { reach, weighted, known }: the longest training length, nil where lines say what is beyond;
-- whether scores are means over examples; whether either is known. Their parts then stand in parts.
function M.close(of, finite)
  for _, split in ipairs(M.SPLITS) do
    local evaluation = of[split]
    if evaluation then
      evaluation.places = nil
      complete(evaluation, of.axis)
      if not is_sorted(evaluation) then
        evaluation = pick(evaluation, split, ordered(evaluation))
        of[split] = evaluation
      end
      evaluation.weighted = finite and finite.weighted or nil
      evaluation.parts = finite and finite.known and parts_of(evaluation, of.axis, finite.reach) or nil
      evaluation.beyond = nil
      if evaluation.conditions then
        join(evaluation, of.axis)
      end
    end
  end
end

return M
