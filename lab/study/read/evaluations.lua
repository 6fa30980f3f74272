-- Evaluations: all lines of eval.jsonl for one set, collected in one table.
--
-- Input: rows from evaluation_lines.lua. Output: an evaluation with these fields:
--   split, step, decoding, data: fields of the lines (evaluation_lines.lua); the last two are nil if lines lack them
--   examples, draws: the numbers of examples, and of draws (samples of random positions), of the first line
--   is_mixed: true if other lines have other numbers of examples or draws
--   has_places: true if some line without further axes has accuracies by place (places.lua)
--   lengths: the evaluated lengths, ascending; if the lines have other axes, the numbers on the first axis
--   <measure>: a list of the measure's values in the order of lengths, "" for a length without the measure; exact_match
--     and loss are texts. accuracy, exact_match and loss always have a list. Another measure has a list if some line
--     has the measure. If lines have other axes, only the measures in AVERAGED have lists (join_lines)
--   counts: the number of evaluated examples of each length
--   totals: the number of existing examples of each length; nil if all were evaluated
--   uncounted: for each length, whether none of its labels counts; nil if every line has labels that count
--   conditions: { by, examples, beyond, trained, <measure> } of each line; nil if lengths are the only axis
--   is_weighted: true if a score is the mean over examples, not over lengths
--   parts: for dataset files, from make_parts
-- Invariants: only lines of the last step count; the last line of a condition replaces earlier lines.

local axes = require("spec.task.axes")
local canonical = require("base.canonical")
local lists = require("base.lists")
local statistics = require("lab.study.read.statistics")

local M = {}

-- The measures in the order of the columns of report.csv.
M.MEASURES = { "accuracy", "accuracy_teacher_forced", "exact_match", "exact_match_low", "exact_match_high",
  "ended_early", "not_ended", "loss", "sd_over_sequences" }
local LISTED = lists.join(M.MEASURES, { "uncertainty" }) -- measures that have a list if lengths are the only axis
M.SPLITS = { "in_distribution", "between", "beyond", "train", "test", "validation" }
-- Measures that have a mean over conditions.
local AVERAGED = { "accuracy", "accuracy_teacher_forced", "exact_match", "loss", "ended_early", "not_ended" }
local AS_TEXT = { exact_match = true, loss = true }
-- Fields that M.add sets and a complete evaluation keeps.
local FACTS = { "step", "examples", "draws", "decoding", "data", "is_mixed", "has_places", "is_weighted" }

-- Whether a condition has no axes except the first axis of the run and settings of the model, such as noise.
local function has_no_further_axis(axis_values, axis)
  return not lists.any(canonical.sort_keys(axis_values), function(name)
    return name ~= axis and not axes.IS_SETTING[name]
  end)
end

local function has_one_axis(axis_values)
  return next(axis_values, next(axis_values)) == nil
end

-- Adds a row to the evaluation of its split in `evaluations`, { axis, [split] = evaluation }; axis: the run's first
-- axis. Until M.complete, an evaluation has `lines`, and `indices`, the index in `lines` of each condition. A line:
--   number   the number on the first axis, or 0
--   index    its index in `lines`
--   by       the numbers on all axes; nil if the length is the only axis
--   row      the row
function M.add(evaluations, row)
  local axis, evaluation = evaluations.axis, evaluations[row.split]
  local number = row.by and row.by[axis] or axis == "length" and row.length
  if not number and row.length then
    return -- an evaluation by length, which the user requested although the run has other axes
  elseif not evaluation or row.step > evaluation.step then
    evaluation = { step = row.step, examples = row.examples, draws = row.draws, decoding = row.decoding, indices = {},
      lines = {} }
    evaluations[row.split] = evaluation
  elseif row.step < evaluation.step then
    return
  end
  local is_by_length_alone = not row.by or row.length and has_one_axis(row.by)
  local axis_values = not is_by_length_alone and row.by or nil
  local key = axis_values and canonical.format(axis_values) or row.length
  local index = evaluation.indices[key] or #evaluation.lines + 1
  evaluation.indices[key], evaluation.data = index, evaluation.data or row.data
  evaluation.is_mixed = evaluation.is_mixed or row.examples ~= evaluation.examples or row.draws ~= evaluation.draws
  evaluation.has_places = evaluation.has_places or row.has_places and (not row.by or has_no_further_axis(row.by, axis))
    or nil
  evaluation.lines[index] = { number = number or 0, index = index, by = axis_values, row = row }
end

-- Joins a group of lines with the same number on the first axis into one line. Its measures are means over the lines
-- for which is_averaged returns true. The weight of a line is the number of its existing examples.
local function average_lines(group, is_averaged)
  local row, sums, weights = { examples = 0, of = 0, counted = 0 }, {}, {} -- counted = 0: no label counts
  for _, line in ipairs(group) do
    local is_included = is_averaged(line)
    local weight = is_included and (line.row.of or line.row.examples) or 0
    row.examples, row.of = row.examples + (is_included and line.row.examples or 0), row.of + weight
    for _, name in ipairs(AVERAGED) do
      local value = tonumber(line.row[name])
      if value then
        row.counted = nil -- a line with a measure has labels that count
        sums[name], weights[name] = (sums[name] or 0) + weight * value, (weights[name] or 0) + weight
      end
    end
  end
  for name, weight in pairs(weights) do
    local mean = weight > 0 and sums[name] / weight or nil
    row[name] = mean and AS_TEXT[name] and ("%.9g"):format(mean) or mean
  end
  return { number = group.key, row = row }
end

-- Joins lines that share a number on the first axis. A line without other axes replaces the mean over the lines of its
-- number. A line with the axis `frame` (spec/task/axes.lua) and a further axis is left out.
local function join_lines(lines, axis)
  local single_axis_lines = lists.index_by(lists.filter(lines, function(line)
    return not line.by or line.by[axis] ~= nil and has_one_axis(line.by)
  end), function(line) return line.number end)
  local averaged_lines = lists.filter(lines, function(line)
    return not line.by or not line.by[axes.FRAME] or has_one_axis(line.by)
  end)
  return lists.map(lists.group(averaged_lines, function(line) return line.number end), function(group)
    return average_lines(group, function(line) return not single_axis_lines[line.number] or not line.by
      or has_one_axis(line.by) end)
  end)
end

-- Returns the condition of a line: its row, or a table with the same fields if the length is its only axis.
local function make_condition(line, axis)
  local row = line.row
  return line.by and row or { by = { [axis] = line.number }, examples = row.examples, accuracy = row.accuracy or "",
    exact_match = row.exact_match }
end

-- Returns the complete evaluation of some lines of an evaluation from M.add, whose field `has` is from find_lists.
local function make_evaluation(evaluation, split, lines, axis)
  local has, result = evaluation.has, { split = split }
  for _, name in ipairs(FACTS) do
    result[name] = evaluation[name]
  end
  if has.conditions then
    result.conditions = lists.map(lines, function(line) return make_condition(line, axis) end)
    lines = join_lines(lines, axis)
  end
  local function list(get_value)
    return lists.map(lines, get_value)
  end
  result.lengths, result.counts = list(function(line) return line.number end),
    list(function(line) return line.row.examples end)
  result.totals = has.totals and list(function(line) return line.row.of or line.row.examples end) or nil
  result.uncounted = has.uncounted and list(function(line) return line.row.counted == 0 end) or nil
  for _, name in ipairs(has.conditions and AVERAGED or LISTED) do
    result[name] = has[name] and list(function(line) return line.row[name] or "" end) or nil
  end
  return result
end

-- Returns the axes on which a line is beyond training, as a text such as "digits and width", or false. A line with only
-- the axis length is not beyond training if other lines have other axes.
local function name_beyond(evaluation, line)
  local names = lists.copy(line.row.beyond or {})
  if #names == 0 or evaluation.has.conditions and not line.by then
    return false
  end
  table.sort(names)
  return table.concat(names, " and ")
end

-- Returns the parts of an evaluation of dataset files:
--   in_distribution, beyond   evaluations, nil without lines
--   axes                      { { name, evaluation }, ... }: beyond, divided by name_beyond; nil for only one name
local function make_parts(evaluation, axis)
  local lines_within, lines_beyond = {}, {}
  for _, line in ipairs(evaluation.lines) do
    line.beyond = name_beyond(evaluation, line)
    table.insert(line.beyond and lines_beyond or lines_within, line)
  end
  local function make(name, lines)
    return #lines > 0 and make_evaluation(evaluation, name, lines, axis) or nil
  end
  local axis_parts = lists.map(lists.group(lines_beyond, function(line) return line.beyond end), function(group)
    return { name = "beyond " .. group.key, evaluation = make("beyond " .. group.key, group) }
  end)
  table.sort(axis_parts, function(a, b) return a.name < b.name end)
  return { in_distribution = make("in_distribution", lines_within), beyond = make("beyond", lines_beyond),
    axes = #axis_parts > 1 and axis_parts or nil }
end

-- Returns the lists that an evaluation of the lines has, as { <list> = boolean }.
local function find_lists(lines)
  local has = { accuracy = true, exact_match = true, loss = true }
  for _, line in ipairs(lines) do
    for _, name in ipairs(LISTED) do
      has[name] = has[name] or line.row[name] ~= nil
    end
    has.totals, has.conditions = has.totals or line.row.of ~= nil, has.conditions or line.by ~= nil
    has.uncounted = has.uncounted or line.row.counted == 0
  end
  return has
end

-- Completes evaluations after M.add has added all rows. has_sets: whether the run has dataset files; then evaluations
-- get `parts`. is_weighted: whether scores are means over examples.
function M.complete(evaluations, has_sets, is_weighted)
  for _, split in ipairs(M.SPLITS) do
    local evaluation = evaluations[split]
    if evaluation then
      table.sort(evaluation.lines, function(a, b)
        return a.number < b.number or a.number == b.number and a.index < b.index
      end)
      evaluation.has, evaluation.is_weighted = find_lists(evaluation.lines), is_weighted or nil
      evaluations[split] = make_evaluation(evaluation, split, evaluation.lines, evaluations.axis)
      evaluations[split].parts = has_sets and make_parts(evaluation, evaluations.axis) or nil
    end
  end
end

local MEANS = { "accuracy", "accuracy_teacher_forced", "exact_match", "loss" }

-- Returns the means { accuracy, accuracy_teacher_forced, exact_match, loss } of rows; nil without these measures.
local function compute_means(rows)
  local means = {}
  for _, name in ipairs(MEANS) do
    means[name] = statistics.mean(lists.map(rows, function(row) return tonumber(row[name]) end))
  end
  return next(means) and means or nil
end

-- Summarises evaluations during training (eval.during). Returns a list with a table for each step:
--   step
--   mean   from compute_means, over held-out sets; over the training set if there are no held-out sets
--   sets   { <set> = means } for dataset files; nil for sampled tasks
function M.summarise_training(rows, spec)
  local splits = lists.get(spec, "eval.during.splits")
  local single_set = splits and #splits == 1 and splits[1] -- lines omit the name if there is a single set
  local function get_set(row)
    return row.set or single_set or false
  end
  return lists.map(lists.group(rows, function(row) return row.step end), function(point)
    local sets = {}
    for _, set in ipairs(lists.group(point, get_set)) do
      if set.key then
        sets[set.key] = compute_means(set)
      end
    end
    local held_out = lists.filter(point, function(row) return get_set(row) ~= "train" end)
    return { step = point.key, mean = compute_means(held_out) or sets.train, sets = next(sets) and sets }
  end)
end

return M
