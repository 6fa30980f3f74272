-- Tables of a report: our measurements next to a paper's numbers.
--
-- Input: a study with its cells read (cells.lua), an item (items.lua), the paper's numbers (published.lua). Output: a
-- table { title, about, corner, subs, columns, rows, notes } for the renderers: columns = { { title }, ... }; subs are
-- the titles of the values in each cell; rows = { { title, last, cells } }, where cells are entries of
-- table_entries.lua.

local canonical = require("base.canonical")
local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local cells = require("lab.study.read.cells")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local statistics = require("lab.study.read.statistics")

local M = {}

-- The study's cell with these values on its axes; nil if there is none.
function M.find(study, wanted)
  return lists.find(study.cells, function(cell) return cells.fits(cell, wanted, {}) end)
end

function M.axis(study, name)
  local found = lists.find(study.axes, function(axis) return axis.name == name end)
  return found and found.values or {}
end

-- The name of a value without context: its label in the study's report; else a number is preceded by its axis.
function M.label(study, axis, value)
  return study.labels and study.labels[value] or tonumber(value) and ("%s %s"):format(axis, value) or value
end

-- The title of a row, whose axis the corner of the table names.
local function row_title(study, value)
  return study.labels and study.labels[value] or value
end

-- The number in the name of an axis' value; nil if there is none.
function M.number(value)
  return tonumber(value) or tonumber(value:match("%d+"))
end

function M.with(where, more)
  return lists.merged(where or {}, more)
end

M.SETS = { epoch = "last epoch, while it was trained", train = "training", test = "held out",
  validation = "validation", in_distribution = "in_distribution", between = "between", beyond = "beyond" }

local function mark_column(rows, column, metric)
  entries.mark_best(lists.map(rows, function(row) return row.cells[column] end), metric)
end

local function where_text(where)
  local parts = lists.map(canonical.sorted_keys(where or {}), function(name)
    return ("%s %s"):format(name, where[name])
  end)
  return #parts > 0 and (" (%s)"):format(table.concat(parts, ", ")) or ""
end

-- The text under a title: a description of the numbers, if the item has its own title, and details.
function M.about(item, what, details)
  return captions.before(item.title and what or nil, details)
end

-- Sentences on the scores in a table of an item's values; nil for hours.
local function details_of(study, item)
  return item.value ~= "hours" and captions.details(study, item.value ~= "max") or nil
end

-- The title of an item, followed by the values that its `where` fixes.
function M.title_of(item, default)
  return (item.title or default:gsub("^%l", string.upper)) .. where_text(item.where)
end

-- The table of an item. what: a description of its numbers; details: further sentences; columns: entries with `title`.
function M.model(item, what, details, published, columns, rows, notes)
  return { title = M.title_of(item, what), about = M.about(item, what, details), corner = item.rows,
    subs = published and { "ours", "paper", "diff" } or { "" }, columns = columns, rows = rows,
    notes = notes or entries.notes(rows, columns), published = published }
end

-- Rows and columns of a table of one value. A table of one axis has rows and a single column.
function M.table(study, item, published)
  local measure = entries.measure(study, item, published)
  local columns = lists.map(item.columns and M.axis(study, item.columns) or { false }, function(name)
    return { title = name and M.label(study, item.columns, name) or measure.short, name = name or nil }
  end)
  local rows = lists.map(M.axis(study, item.rows), function(name)
    return { title = row_title(study, name), cells = lists.map(columns, function(column)
      local key = M.with(item.where, { [item.rows] = name, [item.columns or item.rows] = column.name or name })
      local cell = M.find(study, key)
      return cell and entries.of(cell, item, measure, published, key) or { texts = { "" } }
    end) }
  end)
  if item.value ~= "hours" and item.columns then -- marks the best number of each row
    for _, row in ipairs(rows) do
      entries.mark_best(row.cells, study.scored.metric)
    end
  elseif item.value ~= "hours" then
    mark_column(rows, 1, study.scored.metric)
  end
  local notes = entries.notes(rows, columns)
  if #rows > 1 and item.columns and not study.found then
    rows[#rows + 1] = { title = "mean", last = true, cells = lists.map(columns, function(_, j)
      return entries.summary(rows, j, statistics.mean, false, measure.form, published)
    end) }
  end
  return M.model(item, measure.title, details_of(study, item), published, columns, rows, notes)
end

-- The table of scores on several sets, with a row for each value of an axis.
function M.splits(study, item, published)
  local columns = entries.columns(lists.map(item.splits, function(split) return M.SETS[split] end))
  local rows = lists.map(M.axis(study, item.rows), function(name)
    local key = M.with(item.where, { [item.rows] = name })
    return { title = row_title(study, name), cells = lists.map(item.splits, function(split)
      return entries.of_set(M.find(study, key), item, split, published, key, study.scored.metric)
    end) }
  end)
  for j in ipairs(columns) do
    mark_column(rows, j, study.scored.metric)
  end
  local what = ("%s in %s, mean and standard deviation (n - 1) over seeds, and the standard error of the mean"):format(
    entries.metric(study), metrics.of[study.scored.metric].unit)
  local model = M.model(item, what, captions.details(study, true), published, columns, rows)
  table.insert(model.subs, 2, "s.e.")
  return model
end

-- The best result of a group in one row: ours with its cell, and the paper's.
local function side(study, item, measure, published, row, which)
  local best, paper, paper_sd, first
  local columns = measure.columns
  local fixed = type(item.published) == "table" and item.published[which]
  if fixed then
    columns = { fixed, fixed:match("_mean$") and fixed:gsub("_mean$", "_sd") or nil }
  end
  for _, name in ipairs(item[which]) do
    local key = M.with(item.where, { [item.rows] = row, [item.axis] = name })
    local cell = M.find(study, key)
    local got = entries.value(cell, item.value, measure)
    first = first or cell
    if got.value and metrics.is_better(study.scored.metric, got.value, best and best.got.value) then
      best = { got = got, cell = cell, name = name }
    end
    local theirs, sd = entries.paper(published, key, item.names, columns)
    if theirs and (not paper or theirs > paper) then
      paper, paper_sd = theirs, sd
    end
  end
  return best or { got = {}, cell = first }, paper, paper_sd
end

-- Cautions on the runs of a group: "rope: 3 of 30 runs".
local function side_about(study, item, measure, row, which)
  local parts = lists.map(item[which], function(name)
    local cell = M.find(study, M.with(item.where, { [item.rows] = row, [item.axis] = name }))
    local text = entries.about(cell, item.value, entries.value(cell, item.value, measure))
    return text and ("%s: %s"):format(name, text)
  end)
  return #parts > 0 and table.concat(parts, "; ") or nil
end

local function side_entry(study, item, measure, published, row, which)
  local form = measure.form
  local best, paper, paper_sd = side(study, item, measure, published, row, which)
  local made = entries.entry(best.cell, best.got.value, side_about(study, item, measure, row, which),
    entries.number_text(form, best.got.value, best.got.sd))
  made.detail = #item[which] > 1 and best.name or nil
  return published and entries.add_paper(made, paper, entries.number_text(form, paper, paper_sd), form) or made
end

-- The gain of the first group over the second.
local function gain_entry(of, against, published)
  local ours = of.value and against.value and of.value - against.value or nil
  local paper = of.paper and against.paper and of.paper - against.paper or nil
  local made = entries.entry(nil, ours, nil, entries.number_text("%+.1f", ours))
  return published and entries.add_paper(made, paper, entries.number_text("%+.1f", paper), "%.1f") or made
end

-- The mean and the largest gain over the rows with a gain; the mean is absent if a row has no gain.
local function summary_rows(rows, published)
  local mean = { title = "mean", cells = {}, last = true }
  local largest = { title = "largest", cells = {}, last = true }
  for column = 1, 3 do
    mean.cells[column] = entries.summary(rows, column, statistics.mean, false, column == 3 and "%+.2f" or "%.1f",
      published)
    largest.cells[column] = entries.summary(rows, column, statistics.max, true, column == 3 and "%+.1f" or "%.1f",
      published, "%.1f")
  end
  return { mean, largest }
end

local function side_title(study, item, which)
  local names = lists.map(item[which], function(name) return row_title(study, name) end)
  return item.titles and item.titles[which] or #names == 1 and names[1] or "best of " .. table.concat(names, ", ")
end

-- The table of the best of one group of encodings against the best of another group, row by row.
function M.best(study, item, published)
  local measure = entries.measure(study, item, published)
  local columns = entries.columns({ side_title(study, item, "of"), side_title(study, item, "against"), "gain" })
  local rows = lists.map(M.axis(study, item.rows), function(name)
    local of = side_entry(study, item, measure, published, name, "of")
    local against = side_entry(study, item, measure, published, name, "against")
    return { title = row_title(study, name), cells = { of, against, gain_entry(of, against, published) } }
  end)
  local notes = entries.notes(rows, columns)
  lists.append(rows, summary_rows(rows, published))
  return M.model(item, measure.title, details_of(study, item), published, columns, rows, notes)
end

-- The values of a cell on the axes with several values; without such an axis, the cell's id.
function M.key_text(study, cell)
  local parts = lists.map(study.axes, function(axis)
    return #axis.values > 1 and M.label(study, axis.name, cell.key[axis.name]) or nil
  end)
  return #parts > 0 and table.concat(parts, ", ") or cell.id
end

-- The texts of a cell: runs, the chosen rate, the spread over seeds at this rate; the best of all rates.
local function texts_of(cell, form)
  local s, best = cell.summary, cell.summary.best
  local range = form .. " to " .. form
  return { ("%d of %d"):format(s.evaluated, s.asked), best and ("%g"):format(best.rate) or entries.MISSING,
    best and ("%d"):format(#best.scores) or entries.MISSING, entries.number_text(form, best and best.median),
    best and range:format(best.least, best.most) or entries.MISSING,
    best and best.lower and range:format(best.lower, best.upper) or entries.MISSING,
    entries.number_text(form, best and best.mean, best and best.sd),
    best and best.good and ("%.0f%%"):format(100 * best.good) or entries.MISSING,
    entries.number_text(form, s.max) }
end

-- A table of all cells: the number of runs with a score, the chosen rate, and the spread over seeds.
function M.distribution(study)
  local notes, metric = {}, metrics.of[study.scored.metric]
  local rows = lists.map(study.cells, function(cell)
    local title, note = M.key_text(study, cell), entries.about(cell, "max", {})
    notes[#notes + 1] = note and ("%s: %s"):format(title, note)
    return entries.row(title, texts_of(cell, metric.form), cell)
  end)
  local about = ("quartiles are interpolated linearly; sd has n - 1 in its denominator; %s; best: of all seeds and "
    .. "learning rates"):format(captions.criterion(study))
  return { name = "distribution", title = ("Every cell: %s in %s over the seeds at the chosen learning rate"):format(
      metric.title, metric.unit), about = captions.before(about, captions.details(study, true)), corner = "cell",
    subs = { "" }, columns = entries.columns({ "runs", "rate", "seeds", "median", "least to most", "quartiles",
    "mean ± sd", "generalise", "best" }), rows = rows, notes = notes }
end

return M
