-- Further tables of evaluations in a report:
--   the share of examples that were in the training data
--   exact match by a further axis of the examples, such as the count of carries
--   scores by the noise on embeddings, and by the number of passes
--
-- Input: a study with the results of its cells (cells.lua). Output: tables as in score_tables.lua, none if runs lack
-- such numbers. All numbers are of runs at the chosen learning rate.

local canonical = require("base.canonical")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local statistics = require("lab.study.read.statistics")
local stopping = require("lab.study.read.stopping")
local score_tables = require("lab.study.report.tables.score_tables")

local M = {}

-- Returns the conditions of a cell's runs at the chosen learning rate, a list of entries:
--   run              the run
--   condition        a condition of the run's evaluation
--   by               { [axis] = number } of the condition
--   axis             the first axis
--   number           the number on the first axis, or false
--   has_one_axis     whether `by` names only one axis
local function list_conditions(study, cell)
  return lists.collect(runs.get_chosen_runs(cell), function(run)
    local evaluation = runs.get_evaluation(run, study.scored.split)
    return lists.map(evaluation and evaluation.conditions or {}, function(condition)
      local axis_values = condition.by
      return { by = axis_values, number = axis_values[run.axis] or false, axis = run.axis,
        has_one_axis = next(axis_values, next(axis_values)) == nil, condition = condition, run = run }
    end)
  end)
end

local function format_percent(share)
  return ("%.3g%%"):format(100 * share)
end

-- Formats shares by number as a text such as "100% of 1 to 2, 87.5% of 3"; nil without a share.
local function format_shares(shares)
  local numbers, parts = canonical.sort_keys(shares), {}
  for i, n in ipairs(numbers) do
    local last = parts[#parts]
    if last and last.share == format_percent(shares[n]) and numbers[i - 1] == last.to then
      last.to = n
    else
      parts[#parts + 1] = { share = format_percent(shares[n]), from = n, to = n }
    end
  end
  return #parts > 0 and table.concat(lists.map(parts, function(range)
    return ("%s of %g%s"):format(range.share, range.from, range.to > range.from and (" to %g"):format(range.to) or "")
  end), ", ") or nil
end

local function tabulate_trained(study)
  local axis, leaves_out_trained = nil, false
  local rows = lists.map(study.cells, function(cell)
    local shares = {}
    for _, entry in ipairs(list_conditions(study, cell)) do
      if entry.number and entry.condition.trained and entry.has_one_axis then
        shares[entry.number], axis = entry.condition.trained, entry.axis
        leaves_out_trained = leaves_out_trained or entry.run.novel
      end
    end
    local text = format_shares(shares)
    return text and { score_tables.format_key(study, cell), text, cell = cell }
  end)
  return #rows > 0 and entries.tabulate({ name = "trained",
    title = ("Examples that were trained on, by %s"):format(axis),
    caption = leaves_out_trained and "evaluation leaves these examples out (eval.novel); a number whose examples are "
      .. "all left out has no accuracy" or nil,
    heads = { "cell", "share of the examples" }, rows = rows }) or nil
end

-- Returns the axes whose numbers are combined with numbers on the first axis that are also evaluated alone.
local function list_further_axes(study)
  local names = {}
  for _, cell in ipairs(study.cells) do
    local list = list_conditions(study, cell)
    local is_evaluated_alone = lists.to_set(lists.map(list, function(entry)
      return entry.has_one_axis and entry.number or nil
    end))
    for _, entry in ipairs(list) do
      for name in pairs(is_evaluated_alone[entry.number] and entry.by or {}) do
        names[#names + 1] = name ~= entry.axis and name or nil
      end
    end
  end
  table.sort(names)
  return lists.drop_repeats(names)
end

-- Whether the table by `axis` includes a condition. The table by frames includes only conditions without further axes.
-- frame: the frame of the condition, a number of digits to which numbers are padded; nil: the
-- condition names no frame, and has the frame of training.
local function is_included(entry, axis, frame)
  if axis ~= runs.FRAME then
    return entry.by[runs.FRAME] == frame
  end
  return not lists.find(canonical.sort_keys(entry.by), function(name) return name ~= axis and name ~= entry.axis end)
end

-- Returns two tables by the number on an axis:
--   the list of exact matches (shares) of the cell's conditions with this number
--   whether the number is beyond training
local function list_matches(study, cell, axis, frame)
  local matches, is_beyond = {}, {}
  for _, entry in ipairs(list_conditions(study, cell)) do
    local n, condition = entry.by[axis], entry.condition
    if n and not entry.has_one_axis and is_included(entry, axis, frame) then
      lists.append_to(matches, n, tonumber(condition.exact_match) or 0)
      is_beyond[n] = is_beyond[n] or lists.has(condition.beyond or {}, axis)
    end
  end
  return matches, is_beyond
end

-- Returns the frames that conditions on an axis have, ascending.
local function list_frames(study, axis)
  local list = lists.map(lists.collect(study.cells, function(cell) return list_conditions(study, cell) end),
    function(entry) return entry.by[axis] and entry.by[runs.FRAME] end)
  table.sort(list)
  return lists.drop_repeats(list)
end

local function complete_table(study, contents)
  local titles = lists.map(study.cells, function(cell) return score_tables.format_key(study, cell) end)
  return lists.update(contents, { subs = { "" }, columns = entries.make_columns(titles), notes = {} })
end

-- Makes the table by an axis. frame: as for is_included.
local function tabulate_axis(study, axis, frame)
  local is_beyond, numbers = {}, {}
  local matches_by_cell = lists.map(study.cells, function(cell)
    local matches, is_beyond_in_cell = list_matches(study, cell, axis, frame)
    for n in pairs(matches) do
      numbers[#numbers + 1] = is_beyond[n] == nil and n or nil
      is_beyond[n] = is_beyond[n] or is_beyond_in_cell[n] or false
    end
    return matches
  end)
  table.sort(numbers)
  local rows = lists.map(numbers, function(n)
    return { title = ("%g%s"):format(n, is_beyond[n] and " (beyond)" or ""),
      cells = lists.map(matches_by_cell, function(matches, j)
      local mean = matches[n] and 100 * statistics.mean(matches[n])
      return entries.make_entry(study.cells[j], mean, nil, mean and ("%.1f"):format(mean) or entries.MISSING)
    end) }
  end)
  local caption = "an entry is a mean over the evaluated combinations of its number with numbers on other axes; each "
    .. "combination has its own examples; (beyond): no training example has this number"
  if axis == runs.FRAME then
    caption = "an entry is a mean over the counts of digits that fit the frame; a frame is the width to which numbers "
      .. "are padded, 0: no padding. Scores and curves are of the frame of training, in which more digits do not make "
      .. "a sequence longer"
  end
  local name, frame_text = "by_" .. axis, ""
  if frame then
    name = ("%s_in_%d"):format(name, frame)
    frame_text = frame > 0 and (" in a frame of %d"):format(frame) or " without padding"
  end
  return complete_table(study, { name = name, title = ("Exact match in percent by %s%s"):format(axis, frame_text),
    caption = caption, corner = axis, rows = rows })
end

-- Settings of the model, each with a table of scores. subject: the end of the table's title; explanation: the end of
-- its caption.
local SETTINGS = {
  { name = "noise", subject = "noise on embeddings", explanation = "the left column holds standard deviations "
    .. "of the noise, in the unit that eval.noise chooses. The score of a run is its score at the least noise" },
  { name = "passes", subject = "passes of a model with loops", explanation = "the score of a run is its score at the "
    .. "passes of training. confidence: at each length, the number of passes whose answers are the most probable on "
    .. "average; confidence per example: for each example, the number of passes whose answers are the most probable. "
    .. "oracle: model.loops.times determines the number of passes of each example" },
}

-- Makes the table of the scores by a setting; nil if runs were not evaluated by it.
local function tabulate_setting(study, setting)
  local metric = metrics.by_name[study.scored.metric]
  local values = lists.collect(lists.collect(study.cells, runs.get_chosen_runs), function(run)
    return runs.list_levels(run, setting.name)
  end)
  table.sort(values)
  local function make_row(row_title, get_evaluation)
    return { title = row_title, cells = lists.map(study.cells, function(cell)
      local mean = entries.summarise_runs(cell, function(run)
        return runs.compute_mean(get_evaluation(run), study.scored.metric)
      end).value
      return entries.make_entry(cell, mean, nil, entries.format_number(metric.form, mean))
    end) }
  end
  local rows = lists.map(lists.drop_repeats(values), function(value)
    return make_row(("%g"):format(value), function(run)
      return runs.get_level_evaluation(run, setting.name, value, study.scored.split)
    end)
  end)
  local chosen_runs = rows[1] and setting.name == "passes" and lists.collect(study.cells, runs.get_chosen_runs) or {}
  -- Adds a row for a rule that chooses the number of passes, if any run has such an evaluation.
  local function add_rule(row_title, get_evaluation)
    rows[#rows + 1] = lists.any(chosen_runs, get_evaluation) and make_row(row_title, get_evaluation) or nil
  end
  add_rule("confidence", function(run) return stopping.choose_by_confidence(run, study.scored.split) end)
  add_rule("confidence per example", function(run)
    local evaluation = stopping.choose_by_example(run, study.scored.split)
    return evaluation and evaluation[study.scored.metric] and evaluation or nil
  end)
  add_rule("oracle", function(run)
    return stopping.uses_oracle(run) and runs.get_evaluation(run, study.scored.split) or nil
  end)
  local title = ("%s in %s by %s"):format(metric.title:gsub("^%l", string.upper), metric.unit, setting.subject)
  return #rows > 0 and complete_table(study, { name = "by_" .. setting.name, title = title, corner = setting.name,
    rows = rows, caption = "the mean over the runs; " .. setting.explanation }) or nil
end

function M.make_tables(study)
  local tables = lists.map(SETTINGS, function(setting) return tabulate_setting(study, setting) end)
  for _, axis in ipairs(list_further_axes(study)) do
    tables[#tables + 1] = tabulate_axis(study, axis)
    for _, frame in ipairs(axis ~= runs.FRAME and list_frames(study, axis) or {}) do
      tables[#tables + 1] = tabulate_axis(study, axis, frame)
    end
  end
  tables[#tables + 1] = tabulate_trained(study)
  return tables
end

return M
