-- Tables of a report: what was measured here, beside what a paper prints.
--
-- Input: a study with its cells read (cells.lua), an item (items.lua), the paper's numbers (published.lua). Output: a
-- table { title, about, corner, subs, columns, rows, notes } for the renderers: columns = { { title }, ... }, subs =
-- titles of the values in each cell, rows = { { title, last, cells = entries } }, as table_entries.lua makes them.

local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local statistics = require("lab.study.read.statistics")

local M = {}

local function matches(cell, wanted)
  for name, value in pairs(wanted) do
    if cell.key[name] ~= value then
      return false
    end
  end
  return true
end

-- The cell of a study with these values on its axes; nil where there is none.
function M.find(study, wanted)
  for _, cell in ipairs(study.cells) do
    if matches(cell, wanted) then
      return cell
    end
  end
end

function M.axis(study, name)
  for _, axis in ipairs(study.axes) do
    if axis.name == name then
      return axis.values
    end
  end
  return {}
end

-- How a value of an axis is called where its axis is not named beside it: a number alone says nothing.
function M.label(axis, value)
  return tonumber(value) and ("%s %s"):format(axis, value) or value
end

-- The number that a value of an axis stands for; nil where there is none in its name.
function M.number(value)
  return tonumber(value) or tonumber(value:match("%d+"))
end

function M.with(where, more)
  local key = {}
  for _, map in ipairs({ where or {}, more }) do
    for name, value in pairs(map) do
      key[name] = value
    end
  end
  return key
end

M.SETS = { epoch = "last epoch, while it was trained", train = "training", test = "held out",
  validation = "validation", in_distribution = "in_distribution", between = "between", beyond = "beyond" }

local function mark_column(rows, column, metric)
  local list = lists.map(rows, function(row) return row.cells[column] end)
  entries.mark_best(list, metric)
end

-- Numbers are compared along the columns; in a table of one axis, along the rows.
local function mark_all(rows, of_one_axis, metric)
  for _, row in ipairs(of_one_axis and {} or rows) do
    entries.mark_best(row.cells, metric)
  end
  if of_one_axis then
    mark_column(rows, 1, metric)
  end
end

local function where_text(where)
  local parts = {}
  for name, value in pairs(where or {}) do
    parts[#parts + 1] = ("%s %s"):format(name, value)
  end
  table.sort(parts)
  return #parts > 0 and (" (%s)"):format(table.concat(parts, ", ")) or ""
end

-- What stands under a title: what the numbers are, where the item has a title of its own, and details.
function M.about(item, what, details)
  return captions.before(item.title and what or nil, details)
end

-- What a table of an item's values says of them besides its title.
local function details_of(study, item)
  return item.value ~= "hours" and captions.details(study, item.value ~= "max") or nil
end

-- The title of an item, with what its `where` fixes.
function M.title_of(item, default)
  return (item.title or default:gsub("^%l", string.upper)) .. where_text(item.where)
end

local function model_of(item, what, details, published, columns, rows, notes)
  return { title = M.title_of(item, what), about = M.about(item, what, details), corner = item.rows,
    subs = published and { "ours", "paper", "diff" } or { "" }, columns = columns, rows = rows, notes = notes,
    published = published }
end

-- Rows and columns of one value; of one axis alone, rows and a single column.
function M.table(study, item, published)
  local columns, rows, measure = {}, {}, entries.measure(study, item, published)
  for i, name in ipairs(item.columns and M.axis(study, item.columns) or { false }) do
    columns[i] = { title = name and M.label(item.columns, name) or measure.short, name = name or nil }
  end
  for i, name in ipairs(M.axis(study, item.rows)) do
    rows[i] = { title = name, cells = {} }
    for j, column in ipairs(columns) do
      local key = M.with(item.where, { [item.rows] = name, [item.columns or item.rows] = column.name or name })
      local cell = M.find(study, key)
      rows[i].cells[j] = cell and entries.of(cell, item, measure, published, key) or { texts = { "" } }
    end
  end
  if item.value ~= "hours" then
    mark_all(rows, not item.columns, study.scored.metric)
  end
  local notes = entries.notes(rows, columns)
  if #rows > 1 and item.columns and not study.found then
    local mean = { title = "mean", cells = {}, last = true }
    for j in ipairs(columns) do
      mean.cells[j] = entries.mean(rows, j, measure.form, published)
    end
    rows[#rows + 1] = mean
  end
  return model_of(item, measure.title, details_of(study, item), published, columns, rows, notes)
end

-- Scores on sets side by side, of a value of an axis in each row.
function M.splits(study, item, published)
  local columns, rows = {}, {}
  for i, split in ipairs(item.splits) do
    columns[i] = { title = M.SETS[split] }
  end
  for i, name in ipairs(M.axis(study, item.rows)) do
    local key = M.with(item.where, { [item.rows] = name })
    rows[i] = { title = name, cells = {} }
    for j, split in ipairs(item.splits) do
      rows[i].cells[j] = entries.of_set(M.find(study, key), item, split, published, key,
        study.scored.metric)
    end
  end
  for j in ipairs(columns) do
    mark_column(rows, j, study.scored.metric)
  end
  local what = ("%s in %s, mean and standard deviation (n - 1) over seeds, and the standard error of the mean"):format(
    entries.metric(study), metrics.of[study.scored.metric].unit)
  return { title = M.title_of(item, what), about = M.about(item, what, captions.details(study, true)),
    corner = item.rows,
    subs = published and { "ours", "s.e.", "paper", "diff" } or { "", "s.e." }, columns = columns, rows = rows,
    notes = entries.notes(rows, columns), published = published }
end

-- The best of a side in one row: ours with its cell, and the paper's.
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

-- What is missing on a side: "rope: 3 of 30 runs".
local function side_about(study, item, measure, row, which)
  local parts = {}
  for _, name in ipairs(item[which]) do
    local cell = M.find(study, M.with(item.where, { [item.rows] = row, [item.axis] = name }))
    local text = entries.about(cell, item.value, entries.value(cell, item.value, measure))
    parts[#parts + 1] = text and ("%s: %s"):format(name, text)
  end
  return #parts > 0 and table.concat(parts, "; ") or nil
end

local function side_entry(study, item, measure, published, row, which)
  local form = measure.form
  local best, paper, paper_sd = side(study, item, measure, published, row, which)
  local note = side_about(study, item, measure, row, which)
  local made = { missing = not best.got.value, value = best.got.value, paper = paper, about = note,
    number = best.cell and best.cell.number,
    texts = { entries.number_text(form, best.got.value, best.got.sd) .. (note and best.got.value and "*" or "") } }
  if published then
    made.texts[2] = entries.number_text(form, paper, paper_sd)
    made.texts[3] = entries.difference_text(form, best.got.value, paper)
  end
  if #item[which] > 1 then
    made.detail = best.name
  end
  return made
end

-- The gain of one side over the other.
local function gain_entry(of, against, published)
  local ours = of.value and against.value and of.value - against.value or nil
  local paper = of.paper and against.paper and of.paper - against.paper or nil
  local made = { missing = not ours, value = ours, paper = paper,
    texts = { ours and ("%+.1f"):format(ours) or entries.MISSING } }
  if published then
    made.texts[2] = paper and ("%+.1f"):format(paper) or entries.MISSING
    made.texts[3] = entries.difference_text("%.1f", ours, paper)
  end
  return made
end

-- The gain's mean and its largest, over the rows that have one; a mean needs all of them.
local function summary_rows(rows, published)
  local mean = { title = "mean", cells = {}, last = true }
  local largest = { title = "largest", cells = {}, last = true }
  for column = 1, 3 do
    mean.cells[column] = entries.mean(rows, column, column == 3 and "%+.2f" or "%.1f", published)
    local ours, paper = {}, {}
    for _, row in ipairs(rows) do
      ours[#ours + 1], paper[#paper + 1] = row.cells[column].value, row.cells[column].paper
    end
    local top, theirs = statistics.max(ours), statistics.max(paper)
    local form = column == 3 and "%+.1f" or "%.1f"
    largest.cells[column] = { missing = not top, value = top, paper = theirs, texts = { entries.number_text(form, top),
      published and entries.number_text(form, theirs), published and entries.difference_text("%.1f", top, theirs) } }
  end
  return mean, largest
end

local function side_title(item, which)
  local names = item[which]
  return item.titles and item.titles[which] or #names == 1 and names[1] or "best of " .. table.concat(names, ", ")
end

-- The best of one group of encodings against the best of another, row by row.
function M.best(study, item, published)
  local rows, measure = {}, entries.measure(study, item, published)
  local columns = { { title = side_title(item, "of") }, { title = side_title(item, "against") }, { title = "gain" } }
  for i, name in ipairs(M.axis(study, item.rows)) do
    local of = side_entry(study, item, measure, published, name, "of")
    local against = side_entry(study, item, measure, published, name, "against")
    rows[i] = { title = name, cells = { of, against, gain_entry(of, against, published) } }
  end
  local notes = entries.notes(rows, columns)
  local mean, largest = summary_rows(rows, published)
  rows[#rows + 1], rows[#rows + 2] = mean, largest
  return model_of(item, measure.title, details_of(study, item), published, columns, rows, notes)
end

local function key_text(study, cell)
  local parts = {}
  for _, axis in ipairs(study.axes) do
    parts[#parts + 1] = #axis.values > 1 and M.label(axis.name, cell.key[axis.name]) or nil
  end
  return #parts > 0 and table.concat(parts, ", ") or cell.id
end

M.key_text = key_text

local function share_text(share)
  return share and ("%.0f%%"):format(100 * share) or entries.MISSING
end

-- The texts of a cell: runs, the chosen rate, and how its seeds come out there; the best of all rates.
local function texts_of(cell, form)
  local s, best = cell.summary, cell.summary.best
  local range = form .. " to " .. form
  return { ("%d of %d"):format(s.evaluated, s.asked), best and ("%g"):format(best.rate) or entries.MISSING,
    best and ("%d"):format(#best.scores) or entries.MISSING, entries.number_text(form, best and best.median),
    best and range:format(best.least, best.most) or entries.MISSING,
    best and best.lower and range:format(best.lower, best.upper) or entries.MISSING,
    entries.number_text(form, best and best.mean, best and best.sd), share_text(best and best.good),
    entries.number_text(form, s.max) }
end

-- Of every cell: how many runs have a score, the rate that was chosen, and how its seeds come out.
function M.distribution(study)
  local columns, rows, notes, metric = {}, {}, {}, metrics.of[study.scored.metric]
  for i, title in ipairs({ "runs", "rate", "seeds", "median", "least to most", "quartiles", "mean ± sd", "generalise",
    "best" }) do
    columns[i] = { title = title }
  end
  for i, cell in ipairs(study.cells) do
    rows[i] = { title = key_text(study, cell), cells = {} }
    for j, text in ipairs(texts_of(cell, metric.form)) do
      rows[i].cells[j] = { texts = { text }, number = cell.number, missing = text == entries.MISSING }
    end
    local note = entries.about(cell, "max", {})
    notes[#notes + 1] = note and ("%s: %s"):format(rows[i].title, note)
  end
  local about = ("quartiles are interpolated linearly; sd has n - 1 in its denominator; %s; best: of all seeds and "
    .. "learning rates"):format(captions.criterion(study))
  return { name = "distribution", title = ("Every cell: %s in %s over the seeds at the chosen learning rate"):format(
      metric.title, metric.unit), about = captions.before(about, captions.details(study, true)), corner = "cell",
    subs = { "" }, columns = columns, rows = rows, notes = notes }
end

return M
