-- Entries of a report's tables: a cell's measurement next to a paper's number.
--
-- Input: cells of cells.lua, an item (items.lua), the paper's numbers (published.lua). Output: an entry:
--   texts        in the order of the table's `subs`
--   is_missing   whether there is no value
--   is_best      whether the value is the best of its row or column
--   number       the index of the cell to which the entry links
--   note         a caution on the value
--   value        our number
--   paper        the paper's number
--   detail       a small text after the value

local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local published_module = require("lab.study.read.published")
local runs = require("lab.study.read.runs")
local statistics = require("lab.study.read.statistics")
local wording = require("base.wording")

local M = {}

M.MISSING = "missing"

-- An item's `value` -> fields of its table:
--   title     the default title
--   short     the title of the only column
--   form      the format of the value; nil: the metric's
--   columns   the names of the paper's columns
local VALUES = {
  median = { title = "%s in %s: median, least to most and number of seeds, at the chosen learning rate",
    short = "median (least to most; seeds)", columns = { "accuracy_median" } },
  max = { title = "%s in %s, the best of all seeds and learning rates", short = "best", columns = { "accuracy_max" } },
  mean = { title = "%s in %s, mean and standard deviation (n - 1) over seeds at the chosen learning rate",
    short = "mean ± sd", columns = { "accuracy_mean", "accuracy_sd" } },
  hours = { title = "%s of training, evaluation excluded, mean and standard deviation (n - 1) over runs",
    form = "%.2f", columns = { "hours_mean", "hours_sd" } },
}

local SMALL = 0.1 -- smaller values of the form "%.2f", such as times, are shown with two significant digits

function M.name_metric(study)
  return metrics.by_name[study.scored.metric].title
end

-- Returns the unit for a list of seconds: "hours", "minutes" or "seconds", and its length in seconds.
function M.choose_time_unit(list)
  local max_seconds = lists.max(list, function(seconds) return seconds end)
  if max_seconds >= 3600 then
    return "hours", 3600
  end
  return max_seconds >= 60 and "minutes" or "seconds", max_seconds >= 60 and 60 or 1
end

-- Returns the fields of VALUES for an item's value, with title and form completed. For times, the result also has
-- per_hour, the number of time units in an hour. The unit is hours if the paper's times are shown, too.
function M.choose_form(study, item, published)
  local value, metric = VALUES[item.value], metrics.by_name[study.scored.metric]
  if item.value ~= "hours" then
    return lists.merge(value, { title = value.title:format(metric.title, metric.unit), form = metric.form })
  end
  local seconds = lists.map(study.cells, function(cell)
    return cell.summary.hours.mean and 3600 * cell.summary.hours.mean
  end)
  local unit, unit_seconds = "hours", 3600
  if not published and #seconds > 0 then
    unit, unit_seconds = M.choose_time_unit(seconds)
  end
  return lists.merge(value, { title = value.title:format(unit), short = unit, per_hour = 3600 // unit_seconds })
end

-- Returns a cell's measurement: { value, sd, min, max, count (of runs) }. value is nil if nothing was measured. Only
-- medians have min and max.
--   kind      a key of VALUES
--   measure   the result of M.choose_form
function M.get_value(cell, kind, measure)
  local summary = cell and cell.summary
  if not summary then
    return { count = 0 }
  elseif kind == "max" then
    return { value = summary.best_score, count = summary.evaluated }
  elseif kind == "hours" then
    local mean, sd, factor = summary.hours.mean, summary.hours.sd, measure.per_hour
    return { value = mean and mean * factor, sd = sd and sd * factor, count = summary.hours.count }
  elseif not summary.best_rate then
    return { count = 0 }
  end
  local best, count = summary.best_rate, #summary.best_rate.scores
  return kind == "median" and { value = best.median, min = best.min, max = best.max, count = count }
    or { value = best.mean, sd = best.sd, count = count }
end

function M.format_number(form, value, sd)
  if not value then
    return M.MISSING
  end
  form = form == "%.2f" and value < SMALL and "%.2g" or form
  return form:format(value) .. (sd and " ± " .. form:format(sd) or "")
end

-- Formats a measurement from get_value: "50.0 ± 2.0", or for a median "50.0 (48.0 to 52.0; 3)".
function M.format_value(form, measurement)
  local text = M.format_number(form, measurement.value, measurement.sd)
  if not measurement.value or not measurement.min then
    return text
  elseif measurement.count == 1 then
    return text .. " (1)"
  end
  return ("%s (%s to %s; %d)"):format(text, form:format(measurement.min), form:format(measurement.max),
    measurement.count)
end

-- Returns a key, { [axis] = value }, with the paper's names. names: { [axis] = { [our name] = paper_value } }. A
-- paper_value for several columns of the paper is a table { [column] = value }.
function M.translate(key, names)
  local translated = {}
  for axis, value in pairs(key) do
    local paper_value = names and names[axis] and names[axis][value] or value
    if type(paper_value) == "table" then
      for column, column_value in pairs(paper_value) do
        translated[column] = column_value
      end
    else
      translated[axis] = paper_value
    end
  end
  return translated
end

-- Returns the paper's number and its standard deviation; nil for a missing one. columns: the names of their columns.
function M.find_paper(published, key, names, columns)
  if not published then
    return nil
  end
  local translated = M.translate(key, names)
  local value = published_module.find_number(published, translated, columns[1])
  local sd = columns[2] and published_module.find_number(published, translated, columns[2]) or nil
  return value, sd
end

-- Returns a text such as "3 of 30 runs: 26 missing, 1 failed"; nil if all runs of the cell are evaluated.
function M.describe_missing_runs(cell)
  local summary = cell.summary
  return summary.evaluated < summary.requested and ("%d of %s: %s"):format(summary.evaluated,
    wording.count(summary.requested, "run"), runs.format_states(summary.states)) or nil
end

-- Adds cautions on a cell's scores to `parts`, a list of texts.
local function add_score_cautions(parts, summary)
  parts[#parts + 1] = summary.has_other_grid and ("another grid: %s"):format(summary.grid.text) or nil
  local other_count = summary.other_decoding_count
  if other_count then
    parts[#parts + 1] = ("only %s evaluations are scored; %s others"):format(metrics.decodings[summary.decoding]
      or "one kind of", other_count == 1 and "1 run has" or wording.count(other_count, "run") .. " have")
  end
  local choice = summary.choice
  if choice.rate_count > 1 and not choice.is_named and (choice.is_scored or choice.is_beyond) then
    parts[#parts + 1] = choice.is_beyond and "the learning rate was chosen on examples beyond training"
      or "the learning rate was chosen on the scored examples"
  end
  if summary.best_run and summary.best_run.is_within then
    parts[#parts + 1] = summary.best_run.is_trained and "scored on the examples of training, since there are no others"
      or "scored at training lengths, since there are no others"
  end
end

-- Joins all cautions on a cell's value; nil if there are none.
--   kind          a key of VALUES
--   measurement   from M.get_value; read only for hours
function M.join_cautions(cell, kind, measurement)
  if not cell then
    return "no such cell in the study"
  end
  local summary, parts = cell.summary, { M.describe_missing_runs(cell) }
  if kind == "hours" then
    local machines = summary.hours.machines
    parts[#parts + 1] = measurement.value and measurement.count < summary.evaluated and "times of "
      .. wording.count(measurement.count, "run")
      or nil
    parts[#parts + 1] = #machines > 1 and "times of several machines: " .. table.concat(machines, "; ") or nil
  else
    add_score_cautions(parts, summary)
  end
  lists.append(parts, lists.map(summary.differences, function(difference) return "runs differ in " .. difference end))
  parts[#parts + 1] = cell.changes and "runs of an earlier version: " .. cell.changes or nil
  return #parts > 0 and table.concat(parts, "; ") or nil
end

-- Makes an entry for a measured value, shown as `text`; note: a caution on the value, or nil.
function M.make_entry(cell, value, note, text)
  return { is_missing = not value, number = cell and cell.number, note = note, value = value,
    texts = { text .. (note and value and "*" or "") } }
end

-- Adds to an entry the paper's number, shown as `text`, and our difference from it.
function M.add_paper(entry, paper, text, form)
  local difference = entry.value and paper and ("%+" .. form:sub(2)):format(entry.value - paper) or ""
  entry.paper = paper
  lists.append(entry.texts, { text, (difference:gsub("^[+-](0%.?0*)$", "%1")) })
  return entry
end

-- Makes the entry of a cell for an item's `value`. key: the cell's values by axis.
function M.make_cell_entry(cell, item, measure, published, key)
  local form, measurement = measure.form, M.get_value(cell, item.value, measure)
  local entry = M.make_entry(cell, measurement.value, M.join_cautions(cell, item.value, measurement),
    M.format_value(form, measurement))
  local paper, sd = M.find_paper(published, key, item.names, measure.columns)
  return published and M.add_paper(entry, paper, M.format_number(form, paper, sd), form) or entry
end

-- Returns { value (the mean), sd, count } of get_score(run) over the runs at the chosen learning rate.
function M.summarise_runs(cell, get_score)
  local scores = lists.map(runs.get_chosen_runs(cell), get_score)
  return { value = statistics.mean(scores), sd = statistics.sd(scores), count = #scores }
end

-- Makes the entry of a cell on one set: our mean and standard deviation; the standard error of the mean; the paper's
-- value and the difference, if there is a paper.
function M.make_set_entry(cell, item, split, published, key, metric)
  local measurement = M.summarise_runs(cell, function(run) return runs.get_score_on(run, split, metric) end)
  local form = metrics.by_name[metric].form
  local entry = M.make_entry(cell, measurement.value, M.join_cautions(cell, "mean", measurement),
    M.format_number(form, measurement.value,
    measurement.sd))
  entry.texts[2] = measurement.sd and form:format(measurement.sd / math.sqrt(measurement.count)) or ""
  if published then
    local column = split == runs.EPOCH and "train" or split -- papers have no column for the last epoch
    local paper, sd = M.find_paper(published, key, item.names, { column .. "_mean", column .. "_sd" })
    M.add_paper(entry, paper, paper and M.format_number("%.1f", paper, sd) or "", "%.1f")
  end
  return entry
end

-- Makes an entry with a statistic of a column's values, and of the paper's values.
--   may_lack          false: the entry is missing if a row has no value
--   form              the format of the statistic
--   difference_form   the format of our difference from the paper, by default `form`
function M.make_summary(rows, column, statistic, may_lack, form, published, difference_form)
  local function take(name)
    local values = lists.map(rows, function(row) return row.cells[column][name] end)
    return (may_lack or #values == #rows) and statistic(values) or nil
  end
  local value, paper = take("value"), take("paper")
  local entry = M.make_entry(nil, value, nil, M.format_number(form, value))
  return published and M.add_paper(entry, paper, M.format_number(form, paper), difference_form or form) or entry
end

function M.make_columns(titles)
  return lists.map(titles, function(title) return { title = title } end)
end

-- Makes a table with one text in each cell, from { name, title, caption, notes, heads, rows }. heads, and each row, are
-- a list of texts, the first for the left column. A row may have `cell`, the study's cell to which its texts link, and
-- is_missing, whether there is no value.
function M.tabulate(source)
  local rows = lists.map(source.rows, function(row)
    return { title = row[1], cells = lists.map({ table.unpack(row, 2) }, function(text)
      return { texts = { text }, number = row.cell and row.cell.number,
        is_missing = row.is_missing or text == M.MISSING }
    end) }
  end)
  return { name = source.name, title = source.title, caption = source.caption, notes = source.notes or {},
    subs = { "" }, corner = source.heads[1], columns = M.make_columns({ table.unpack(source.heads, 2) }), rows = rows }
end

-- Marks the entries with the best value, unless an entry has no value.
function M.mark_best(entries, metric)
  local best
  local has_all_values = not lists.find(entries, function(entry) return entry.value == nil end)
  for _, entry in ipairs(has_all_values and entries or {}) do
    best = metrics.is_better(metric, entry.value, best) and entry.value or best
  end
  for _, entry in ipairs(entries) do
    entry.is_best = has_all_values and entry.value == best
  end
end

-- Returns the cautions of a row's entries, each once, as "ROW, COLUMN, COLUMN: caution". If all columns have a caution,
-- the text is "ROW: caution".
local function collect_row_notes(row, columns)
  local noted_columns = lists.filter(lists.map(row.cells, function(entry, i)
    return { note = entry.note, title = columns[i].title }
  end), function(column) return column.note end)
  return lists.map(lists.group(noted_columns, function(column) return column.note end), function(group)
    local titles = #group < #columns and lists.map(group, function(column) return column.title end) or {}
    return ("%s: %s"):format(table.concat({ row.title, table.unpack(titles) }, ", "), group.key)
  end)
end

function M.collect_notes(rows, columns)
  return lists.collect(rows, function(row) return collect_row_notes(row, columns) end)
end

return M
