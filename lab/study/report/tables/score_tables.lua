-- Tables of a report: our measurements next to a paper's numbers.
--
-- Input: a study with the results of its cells (cells.lua), an item (items.lua), the paper's numbers (published.lua).
-- Output: a table for the renderers:
--   name      the name of files and labels
--   title     the text above the table
--   caption   a text below the title, or nil
--   corner    the title of the left column
--   subs      the titles of the texts in each cell, { "" } for a single text
--   columns   { { title }, ... }
--   rows      { { title, is_summary, cells (table_entries.lua) }, ... }; is_summary: whether the row is one of the
--             summaries at the end
--   notes     texts

local canonical = require("base.canonical")
local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local cells = require("lab.study.read.cells")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local statistics = require("lab.study.read.statistics")

local M = {}

-- Returns the cell that has the values of `key`, { <axis> = <value> }; nil if there is none.
function M.find(study, key)
  return lists.find(study.cells, function(cell) return cells.fits(cell, key, {}) end)
end

function M.find_axis(study, name)
  return lists.find(study.axes, function(axis) return axis.name == name end)
end

function M.list_values(study, name)
  local axis = M.find_axis(study, name)
  return axis and axis.values or {}
end

-- Returns a list of { name, label, key, cell }, one for each value of an axis.
--   name, label   the value, and the text that names it
--   key           { [axis] = value }: this value, and the values in the item's `where` and in `other_values`
--   cell          the cell with the values of `key`, or nil
function M.list_along(study, item, axis, other_values)
  return lists.map(M.list_values(study, axis), function(name)
    local key = lists.merge(item.where or {}, { [axis] = name }, other_values or {})
    return { name = name, label = M.label(study, axis, name), key = key, cell = M.find(study, key) }
  end)
end

-- Returns the values of the axis item.panels; { false } for an item without panels.
function M.list_panels(study, item)
  return item.panels and M.list_values(study, item.panels) or { false }
end

-- Returns a value as text, for places that do not show its axis: the label in the report, if there is one; else
-- "AXIS VALUE" for a number, or the plain value for a name.
function M.label(study, axis, value)
  return study.labels and study.labels[value] or tonumber(value) and ("%s %s"):format(axis, value) or value
end

local function label_row(study, value)
  return study.labels and study.labels[value] or value
end

-- Returns the number that a value is or contains; nil if it contains no digits.
function M.parse_number(value)
  return tonumber(value) or tonumber(value:match("%d+"))
end

-- Titles of the sets in tables and figures.
M.SETS = { epoch = "last epoch, during training", train = "training", test = "held out",
  validation = "validation", in_distribution = "in_distribution", between = "between", beyond = "beyond" }

local function mark_columns(rows, columns, metric)
  for column in ipairs(columns) do
    entries.mark_best(lists.map(rows, function(row) return row.cells[column] end), metric)
  end
end

local function format_where(where)
  local parts = lists.map(canonical.sort_keys(where or {}), function(name)
    return ("%s %s"):format(name, where[name])
  end)
  return #parts > 0 and (" (%s)"):format(table.concat(parts, ", ")) or ""
end

function M.make_title(item, default)
  return (item.title or default:gsub("^%l", string.upper)) .. format_where(item.where)
end

-- Makes an item's table.
--   heading   a text on the numbers: the title if the item has no title, else a part of the caption
--   details   further sentences of the caption, or nil
function M.complete(item, heading, details, published, columns, rows, notes)
  return { title = M.make_title(item, heading), caption = captions.join(item.title and heading, details),
    corner = item.rows,
    subs = published and { "ours", "paper", "diff" } or { "" }, columns = columns, rows = rows,
    notes = notes or entries.collect_notes(rows, columns) }
end

-- Makes the table of an item's values, without sentences on scores if the values are hours.
local function complete_values(study, item, measure, published, columns, rows, notes)
  return M.complete(item, measure.title, item.value ~= "hours" and captions.describe(study, item.value ~= "max"),
    published, columns, rows, notes)
end

-- Makes the table of an item of the kind "table". Without an axis of columns, the table has a single column.
function M.tabulate(study, item, published)
  local measure = entries.choose_form(study, item, published)
  local columns = lists.map(item.columns and M.list_values(study, item.columns) or { false }, function(name)
    return { title = name and M.label(study, item.columns, name) or measure.short, name = name or nil }
  end)
  local rows = lists.map(M.list_values(study, item.rows), function(name)
    return { title = label_row(study, name), cells = lists.map(columns, function(column)
      local key = lists.merge(item.where or {}, { [item.rows] = name, [item.columns or item.rows] = column.name
        or name })
      local cell = M.find(study, key)
      return cell and entries.make_cell_entry(cell, item, measure, published, key) or { texts = { "" } }
    end) }
  end)
  if item.value ~= "hours" and item.columns then -- the best number of each row is marked, not of each column
    for _, row in ipairs(rows) do
      entries.mark_best(row.cells, study.scored.metric)
    end
  elseif item.value ~= "hours" then
    mark_columns(rows, columns, study.scored.metric)
  end
  local notes = entries.collect_notes(rows, columns)
  if #rows > 1 and item.columns and not study.is_from_folder then
    rows[#rows + 1] = { title = "mean", is_summary = true, cells = lists.map(columns, function(_, j)
      return entries.make_summary(rows, j, statistics.mean, false, measure.form, published)
    end) }
  end
  return complete_values(study, item, measure, published, columns, rows, notes)
end

-- Makes the table of an item of the kind "splits", with a column for each set.
function M.tabulate_sets(study, item, published)
  local columns = entries.make_columns(lists.map(item.splits, function(split) return M.SETS[split] end))
  local rows = lists.map(M.list_along(study, item, item.rows), function(row)
    return { title = label_row(study, row.name), cells = lists.map(item.splits, function(split)
      return entries.make_set_entry(row.cell, item, split, published, row.key, study.scored.metric)
    end) }
  end)
  mark_columns(rows, columns, study.scored.metric)
  local heading = ("%s in %s, mean and standard deviation (n - 1) over seeds, and the standard error of the mean")
    :format(entries.name_metric(study), metrics.by_name[study.scored.metric].unit)
  local contents = M.complete(item, heading, captions.describe(study, true), published, columns, rows)
  table.insert(contents.subs, 2, "s.e.")
  return contents
end

-- An item of the kind "best" compares two lists of values of item.axis: item.of and item.against. Makes the entry of
-- one list in one row: our best result in the list, and the paper's best. The `note` has the cautions on all cells of
-- the list: "rope: 3 of 30 runs".
--   side   the name of the list, "of" or "against"
--   row    the row's value on the axis item.rows
local function make_side_entry(study, item, measure, published, row, side)
  local named_column = type(item.published) == "table" and item.published[side]
  local columns = named_column and { named_column, named_column:match("_mean$") and named_column:gsub("_mean$", "_sd")
    or nil } or measure.columns
  local best, paper, paper_sd, notes, form = { measurement = {} }, nil, nil, {}, measure.form
  for _, name in ipairs(item[side]) do
    local key = lists.merge(item.where or {}, { [item.rows] = row, [item.axis] = name })
    local cell = M.find(study, key)
    local measurement = entries.get_value(cell, item.value, measure)
    if measurement.value and metrics.is_better(study.scored.metric, measurement.value, best.measurement.value) then
      best = { measurement = measurement, name = name, cell = cell }
    end
    best.cell = best.cell or cell
    local paper_value, sd = entries.find_paper(published, key, item.names, columns)
    if paper_value and metrics.is_better(study.scored.metric, paper_value, paper) then
      paper, paper_sd = paper_value, sd
    end
    local note = entries.join_cautions(cell, item.value, measurement)
    notes[#notes + 1] = note and ("%s: %s"):format(name, note)
  end
  local entry = entries.make_entry(best.cell, best.measurement.value, notes[1] and table.concat(notes, "; "),
    entries.format_number(form, best.measurement.value, best.measurement.sd))
  entry.detail = #item[side] > 1 and best.name or nil
  return published and entries.add_paper(entry, paper, entries.format_number(form, paper, paper_sd), form) or entry
end

local function make_gain_entry(of_entry, against_entry, published)
  local difference = of_entry.value and against_entry.value and of_entry.value - against_entry.value or nil
  local paper = of_entry.paper and against_entry.paper and of_entry.paper - against_entry.paper or nil
  local entry = entries.make_entry(nil, difference, nil, entries.format_number("%+.1f", difference))
  return published and entries.add_paper(entry, paper, entries.format_number("%+.1f", paper), "%.1f") or entry
end

-- Makes two summary rows: the mean and the largest value of each column. The mean is missing if a row has no value.
local function make_summary_rows(rows, published)
  local means = { title = "mean", cells = {}, is_summary = true }
  local maxima = { title = "largest", cells = {}, is_summary = true }
  for column = 1, 3 do
    means.cells[column] = entries.make_summary(rows, column, statistics.mean, false, column == 3 and "%+.2f" or "%.1f",
      published)
    maxima.cells[column] = entries.make_summary(rows, column, statistics.max, true, column == 3 and "%+.1f" or "%.1f",
      published, "%.1f")
  end
  return { means, maxima }
end

local function make_side_title(study, item, side)
  local names = lists.map(item[side], function(name) return label_row(study, name) end)
  return item.titles and item.titles[side] or #names == 1 and names[1] or "best of " .. table.concat(names, ", ")
end

-- Makes the table of an item of the kind "best".
function M.tabulate_best(study, item, published)
  local measure = entries.choose_form(study, item, published)
  local columns = entries.make_columns({ make_side_title(study, item, "of"), make_side_title(study, item, "against"),
    "gain" })
  local rows = lists.map(M.list_values(study, item.rows), function(name)
    local of_entry = make_side_entry(study, item, measure, published, name, "of")
    local against_entry = make_side_entry(study, item, measure, published, name, "against")
    return { title = label_row(study, name), cells = { of_entry, against_entry,
      make_gain_entry(of_entry, against_entry, published) } }
  end)
  local notes = entries.collect_notes(rows, columns)
  lists.append(rows, make_summary_rows(rows, published))
  return complete_values(study, item, measure, published, columns, rows, notes)
end

-- Returns the name of a cell in tables: its values on the axes with several values; without such an axis, its id.
function M.format_key(study, cell)
  local parts = lists.map(study.axes, function(axis)
    return #axis.values > 1 and M.label(study, axis.name, cell.key[axis.name]) or nil
  end)
  return #parts > 0 and table.concat(parts, ", ") or cell.id
end

-- Returns the texts of a cell: runs, the chosen rate, the spread over seeds at this rate, the best score of all rates.
local function format_cell(cell, form)
  local summary, best = cell.summary, cell.summary.best_rate
  local range = form .. " to " .. form
  return { ("%d of %d"):format(summary.evaluated, summary.requested),
    best and ("%g"):format(best.rate) or entries.MISSING,
    best and ("%d"):format(#best.scores) or entries.MISSING, entries.format_number(form, best and best.median),
    best and range:format(best.min, best.max) or entries.MISSING,
    best and best.lower and range:format(best.lower, best.upper) or entries.MISSING,
    entries.format_number(form, best and best.mean, best and best.sd),
    best and best.generalising_share and ("%.0f%%"):format(100 * best.generalising_share) or entries.MISSING,
    entries.format_number(form, summary.best_score) }
end

function M.make_cells_table(study)
  local notes, metric = {}, metrics.by_name[study.scored.metric]
  local rows = lists.map(study.cells, function(cell)
    local title, note = M.format_key(study, cell), entries.join_cautions(cell, "max", {})
    notes[#notes + 1] = note and ("%s: %s"):format(title, note)
    return lists.append({ title, cell = cell }, format_cell(cell, metric.form))
  end)
  local caption = ("quartiles are interpolated linearly; sd has n - 1 in its denominator; %s; best: of all seeds and "
    .. "learning rates"):format(captions.name_criterion(study))
  return entries.tabulate({ name = "distribution",
    title = ("Every cell: %s in %s over the seeds at the chosen learning rate"):format(metric.title, metric.unit),
    caption = captions.join(caption, captions.describe(study, true)), heads = { "cell", "runs", "rate", "seeds",
    "median", "least to most", "quartiles", "mean ± sd", "generalise", "best" }, rows = rows, notes = notes })
end

return M
