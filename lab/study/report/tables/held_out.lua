-- Tables of what is held out, beside the score: what of it was trained on, and how the finer conditions come out that
-- have examples of their own, as carries have beside counts of digits; and how accuracy falls under noise.
--
-- Input: a study with its cells read (cells.lua). Output: tables as views.lua makes them, none where runs say nothing.
-- Numbers are of the runs at the chosen learning rate.

local entries = require("lab.study.report.tables.table_entries")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local statistics = require("lab.study.read.statistics")
local views = require("lab.study.report.tables.views")

local M = {}

-- Calls take(condition, run) for every condition of a cell's best runs.
local function each_condition(study, cell, take)
  local best = cell.summary.best
  for _, run in ipairs(best and best.runs or {}) do
    local evaluation = runs.evaluation(run, study.scored.split)
    for _, condition in ipairs(evaluation and evaluation.conditions or {}) do
      take(condition, run)
    end
  end
end

local function is_alone(condition)
  return next(condition.by, next(condition.by)) == nil
end

local function percent(share)
  return ("%.3g%%"):format(100 * share)
end

-- "100% of 1 to 2, 87.5% of 3"
local function shares_text(shares)
  local numbers, parts = {}, {}
  for n in pairs(shares) do
    numbers[#numbers + 1] = n
  end
  table.sort(numbers)
  for i, n in ipairs(numbers) do
    local last = parts[#parts]
    if last and last.share == percent(shares[n]) and numbers[i - 1] == last.to then
      last.to = n
    else
      parts[#parts + 1] = { share = percent(shares[n]), from = n, to = n }
    end
  end
  for i, part in ipairs(parts) do
    parts[i] = ("%s of %g%s"):format(part.share, part.from, part.to > part.from and (" to %g"):format(part.to) or "")
  end
  return #parts > 0 and table.concat(parts, ", ") or nil
end

-- What share of the examples were trained on, for every number on the first axis.
local function trained(study)
  local rows, axis, novel = {}, nil, false
  for _, cell in ipairs(study.cells) do
    local shares = {}
    each_condition(study, cell, function(condition, run)
      local n = condition.by[run.axis]
      if n and condition.trained and is_alone(condition) then
        shares[n], axis, novel = condition.trained, run.axis, novel or run.novel
      end
    end)
    local text = shares_text(shares)
    rows[#rows + 1] = text and { title = views.key_text(study, cell), cells = { { texts = { text },
      number = cell.number } } }
  end
  return #rows > 0 and { name = "trained", title = ("Examples that were trained on, by %s"):format(axis),
    about = novel and "they are left out (eval.novel); a number without others has no accuracy" or nil, corner = "cell",
    subs = { "" }, columns = { { title = "share of the examples" } }, rows = rows, notes = {} } or nil
end

-- The axes of conditions that have finer examples beside those of the first axis alone, in order.
local function finer_axes(study)
  local seen, names = {}, {}
  for _, cell in ipairs(study.cells) do
    local whole = {}
    each_condition(study, cell, function(condition, run)
      whole[condition.by[run.axis] or false] = whole[condition.by[run.axis] or false] or is_alone(condition)
    end)
    each_condition(study, cell, function(condition, run)
      for name in pairs(whole[condition.by[run.axis] or false] and condition.by or {}) do
        names[#names + 1] = name ~= run.axis and not seen[name] and name or nil
        seen[name] = true
      end
    end)
  end
  table.sort(names)
  return names
end

-- Whether the table by an axis takes a condition: one of this frame, nil that of training. That of frames is
-- of numbers as they come, without another axis besides.
local function belongs(condition, run, axis, frame)
  if axis ~= runs.FRAME then
    return condition.by[runs.FRAME] == frame
  end
  for name in pairs(condition.by) do
    if name ~= axis and name ~= run.axis then
      return false
    end
  end
  return true
end

-- Exact matches of a cell by the number on an axis: lists of shares, and the numbers that are beyond training.
local function by_axis(study, cell, axis, frame)
  local lists, beyond = {}, {}
  each_condition(study, cell, function(condition, run)
    local n = condition.by[axis]
    if n and not is_alone(condition) and belongs(condition, run, axis, frame) then
      lists[n] = lists[n] or {}
      table.insert(lists[n], tonumber(condition.exact_match) or 0)
      for _, name in ipairs(condition.beyond or {}) do
        beyond[n] = beyond[n] or name == axis
      end
    end
  end)
  return lists, beyond
end

-- The values of other frames that conditions with an axis have, in order.
local function frames_of(study, axis)
  local seen, list = {}, {}
  for _, cell in ipairs(study.cells) do
    each_condition(study, cell, function(condition)
      local frame = condition.by[axis] and condition.by[runs.FRAME]
      if frame and not seen[frame] then
        seen[frame], list[#list + 1] = true, frame
      end
    end)
  end
  table.sort(list)
  return list
end

-- The table by an axis; frame: of numbers in that one.
local function finer(study, axis, frame)
  local columns, all, beyond, numbers, rows = {}, {}, {}, {}, {}
  for i, cell in ipairs(study.cells) do
    local lists, far = by_axis(study, cell, axis, frame)
    columns[i], all[i] = { title = views.key_text(study, cell) }, lists
    for n in pairs(lists) do
      numbers[#numbers + 1], beyond[n] = beyond[n] == nil and n or nil, beyond[n] or far[n] or false
    end
  end
  table.sort(numbers)
  for i, n in ipairs(numbers) do
    rows[i] = { title = ("%g%s"):format(n, beyond[n] and " (beyond)" or ""), cells = {} }
    for j, lists in ipairs(all) do
      rows[i].cells[j] = { texts = { lists[n] and ("%.1f"):format(100 * statistics.mean(lists[n])) or entries.MISSING },
        number = study.cells[j].number, missing = not lists[n] }
    end
  end
  local about = "the mean over the other numbers that were evaluated with it, of examples drawn for each; (beyond): no "
    .. "training example gets as far"
  if axis == runs.FRAME then
    about = "the mean over the digits that fit; places of a number, 0: no padding. Scores and curves are of the frame "
      .. "of training, where more digits are no longer sequences"
  end
  local name, where = "by_" .. axis, ""
  if frame then
    name = ("%s_in_%d"):format(name, frame)
    where = frame > 0 and (" in a frame of %d"):format(frame) or " without padding"
  end
  return { name = name, title = ("Exact match in percent by %s%s"):format(axis, where), about = about, corner = axis,
    subs = { "" }, columns = columns, rows = rows, notes = {} }
end

-- Scores by noise on embeddings: a row for each deviation that runs have.
local function by_noise(study)
  local seen, deviations, columns, rows = {}, {}, {}, {}
  for i, cell in ipairs(study.cells) do
    columns[i] = { title = views.key_text(study, cell) }
    for _, run in ipairs(cell.summary.best and cell.summary.best.runs or {}) do
      for deviation in pairs(run.noisy or {}) do
        deviations[#deviations + 1], seen[deviation] = not seen[deviation] and deviation or nil, true
      end
    end
  end
  table.sort(deviations)
  for r, deviation in ipairs(deviations) do
    rows[r] = { title = ("%g"):format(deviation), cells = {} }
    for j, cell in ipairs(study.cells) do
      local scores = {}
      for _, run in ipairs(cell.summary.best and cell.summary.best.runs or {}) do
        scores[#scores + 1] = runs.percent(runs.under_noise(run, deviation, study.scored.split), study.scored.metric)
      end
      rows[r].cells[j] = { texts = { entries.number_text(metrics.of[study.scored.metric].form,
        statistics.mean(scores)) },
        number = cell.number, missing = #scores == 0 }
    end
  end
  local metric = metrics.of[study.scored.metric]
  local title = ("%s in %s by noise on embeddings"):format(metric.title:gsub("^%l", string.upper), metric.unit)
  return #rows > 0 and { name = "by_noise", title = title, about = "the mean over the runs; deviations as eval.noise "
    .. "says. The score of a run is that of its least noise", corner = "noise", subs = { "" }, columns = columns,
    rows = rows, notes = {} } or nil
end

function M.tables(study)
  local list = { by_noise(study) }
  for _, axis in ipairs(finer_axes(study)) do
    list[#list + 1] = finer(study, axis)
    for _, frame in ipairs(axis ~= runs.FRAME and frames_of(study, axis) or {}) do
      list[#list + 1] = finer(study, axis, frame)
    end
  end
  list[#list + 1] = trained(study)
  return list
end

return M
