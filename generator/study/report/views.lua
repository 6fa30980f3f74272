-- Tables of a report: what was measured here, beside what a paper prints.
--
-- Input: a study with its cells read (cells.lua), an item (items.lua), the paper's numbers (published.lua). Output: a
-- table { title, about, corner, subs, columns, rows, notes } for the renderers: columns = { { title }, ... }, subs =
-- titles of the values in each cell, rows = { { title, last, cells = { { texts, missing, best, number, about } } }, ...
-- }; number leads to a cell of the study, about says what a reader should know of this number.
-- Invariants: what is not there is "missing", never a number.

local published_module = require("study.read.published")
local runs = require("study.read.runs")
local statistics = require("study.read.statistics")
local wording = require("base.wording")

local M = {}

M.MISSING = "missing"

local VALUES = {
  max = { title = "accuracy in percent, maximum over seeds and learning rates", form = "%.1f", short = "maximum",
    columns = { "accuracy_max" } },
  mean = { title = "accuracy in percent, mean and standard deviation (n - 1) over seeds at the best learning rate",
    form = "%.1f", short = "mean ± sd", columns = { "accuracy_mean", "accuracy_sd" } },
  hours = { title = "%s of training, evaluation excluded, mean and standard deviation (n - 1) over runs",
    form = "%.2f", columns = { "hours_mean", "hours_sd" } },
}

local SHORT = 0.1 -- times below it are shown with two digits however small

-- How the value of an item is told: an entry of VALUES, for times with a unit that fits. A paper's are in hours.
local function measure_of(study, item, published)
  local value = VALUES[item.value]
  if item.value ~= "hours" then
    return value
  end
  local seconds = {}
  for _, cell in ipairs(study.cells) do
    seconds[#seconds + 1] = cell.summary.hours.mean and 3600 * cell.summary.hours.mean
  end
  local unit, length = "hours", 3600
  if not published and #seconds > 0 then
    unit, length = wording.unit(seconds)
  end
  return { title = value.title:format(unit), short = unit, form = value.form, columns = value.columns,
    per_hour = 3600 // length }
end

-- A cell's value of a kind, in the unit of `measure`: { value, sd, count, asked }; value is nil where nothing was
-- measured.
local function value_of(cell, kind, measure)
  local s = cell and cell.summary
  if not s then
    return { count = 0, asked = 0 }
  elseif kind == "max" then
    return { value = s.max, count = s.evaluated, asked = s.asked }
  elseif kind == "hours" then
    local mean, sd, factor = s.hours.mean, s.hours.sd, measure.per_hour
    return { value = mean and mean * factor, sd = sd and sd * factor, count = s.hours.count, asked = s.asked }
  end
  local best = s.best
  return { value = best and best.mean, sd = best and best.sd, count = best and #best.scores or 0,
    asked = best and best.asked or s.asked }
end

local function number_text(form, value, sd)
  if not value then
    return M.MISSING
  end
  form = form == "%.2f" and value < SHORT and "%.2g" or form
  return form:format(value) .. (sd and " ± " .. form:format(sd) or "")
end

local function difference_text(form, ours, paper)
  if not ours or not paper then
    return ""
  end
  local text = ("%+" .. form:sub(2)):format(ours - paper)
  return (text:gsub("^[+-](0%.?0*)$", "%1"))
end

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

-- A key in the paper's names; a name of ours may stand for values of several of its columns.
function M.translate(key, names)
  local translated = {}
  for axis, value in pairs(key) do
    local theirs = names and names[axis] and names[axis][value] or value
    if type(theirs) == "table" then
      for column, one in pairs(theirs) do
        translated[column] = one
      end
    else
      translated[axis] = theirs
    end
  end
  return translated
end

-- The paper's value and its deviation; columns: their names.
local function paper_of(published, key, names, columns)
  if not published then
    return nil
  end
  local translated = M.translate(key, names)
  local value = published_module.lookup(published, translated, columns[1])
  local sd = columns[2] and published_module.lookup(published, translated, columns[2]) or nil
  return value, sd
end

-- How many runs of a cell there are where not all are evaluated: "3 of 30 runs: 26 missing, 1 failed".
function M.count_text(cell)
  local s = cell.summary
  if s.evaluated == s.asked then
    return nil
  end
  local parts = {}
  for _, state in ipairs(runs.UNSCORED) do
    if s.states[state] then
      parts[#parts + 1] = ("%d %s"):format(s.states[state], state)
    end
  end
  return ("%d of %s: %s"):format(s.evaluated, wording.count(s.asked, "run"), table.concat(parts, ", "))
end

-- What a reader should know of a number: too few runs, and runs that differ in what they should share.
local function about(cell, kind, got)
  if not cell then
    return "no such cell in the study"
  end
  local parts = { M.count_text(cell) }
  if got.value and kind == "hours" and got.count < cell.summary.evaluated then
    parts[#parts + 1] = "times of " .. wording.count(got.count, "run")
  end
  if kind == "hours" and #cell.summary.hours.machines > 1 then
    parts[#parts + 1] = "times of several machines: " .. table.concat(cell.summary.hours.machines, "; ")
  end
  if cell.summary.top and cell.summary.top.within then
    parts[#parts + 1] = cell.summary.top.seen and "scored on the examples of training, there are no others"
      or "scored at training lengths, there are no others"
  end
  for _, difference in ipairs(cell.summary.differences) do
    parts[#parts + 1] = "runs differ in " .. difference
  end
  return #parts > 0 and table.concat(parts, "; ") or nil
end

-- One cell of the table: ours, and the paper's with the difference where there is a paper.
local function entry(study, item, measure, published, key)
  local cell = M.find(study, key)
  if not cell and study.found then
    return { texts = { "" } }
  end
  local form = measure.form
  local got = value_of(cell, item.value, measure)
  local note = about(cell, item.value, got)
  local made = { missing = not got.value, number = cell and cell.number, about = note, value = got.value }
  made.texts = { number_text(form, got.value, got.sd) .. (note and got.value and "*" or "") }
  if published then
    local paper, sd = paper_of(published, key, item.names, measure.columns)
    made.paper = paper
    made.texts[2] = number_text(form, paper, sd)
    made.texts[3] = difference_text(form, got.value, paper)
  end
  return made
end

-- The plain mean of a column; only where every row has a number. The paper's likewise.
local function mean_entry(rows, column, form, published)
  local ours, paper = {}, {}
  for _, row in ipairs(rows) do
    ours[#ours + 1] = row.cells[column].value
    paper[#paper + 1] = row.cells[column].paper
  end
  local mean = #ours == #rows and statistics.mean(ours) or nil
  local theirs = #paper == #rows and statistics.mean(paper) or nil
  return { missing = not mean, value = mean, paper = theirs, texts = { number_text(form, mean),
    published and number_text(form, theirs), published and difference_text(form, mean, theirs) } }
end

-- Marks the highest of some cells; where one has no number, none.
local function mark_best(cells)
  local best = -math.huge
  for _, cell in ipairs(cells) do
    best = math.max(best, cell.value or math.huge)
  end
  for _, cell in ipairs(cells) do
    cell.best = cell.value == best
  end
end

-- Numbers are compared along the columns; in a table of one axis, along the rows.
local function mark_all(rows, of_one_axis)
  local column = {}
  for i, row in ipairs(rows) do
    column[i] = row.cells[1]
    if not of_one_axis then
      mark_best(row.cells)
    end
  end
  if of_one_axis then
    mark_best(column)
  end
end

local function notes_of(rows, columns)
  local notes = {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row.cells) do
      if cell.about then
        local title = #columns > 1 and ("%s, %s"):format(row.title, columns[i].title) or row.title
        notes[#notes + 1] = ("%s: %s"):format(title, cell.about)
      end
    end
  end
  return notes
end

local function where_text(where)
  local parts = {}
  for name, value in pairs(where or {}) do
    parts[#parts + 1] = ("%s %s"):format(name, value)
  end
  table.sort(parts)
  return #parts > 0 and (" (%s)"):format(table.concat(parts, ", ")) or ""
end

-- The title of an item, with what its `where` fixes.
function M.title_of(item, default)
  return (item.title or default:gsub("^%l", string.upper)) .. where_text(item.where)
end

local function model_of(item, what, published, columns, rows, notes)
  return { title = M.title_of(item, what), about = item.title and what, corner = item.rows,
    subs = published and { "ours", "paper", "diff" } or { "" }, columns = columns, rows = rows, notes = notes,
    published = published }
end

-- Rows and columns of one value; of one axis alone, rows and a single column.
function M.table(study, item, published)
  local columns, rows, measure = {}, {}, measure_of(study, item, published)
  for i, name in ipairs(item.columns and M.axis(study, item.columns) or { false }) do
    columns[i] = { title = name and M.label(item.columns, name) or measure.short, name = name or nil }
  end
  for i, name in ipairs(M.axis(study, item.rows)) do
    rows[i] = { title = name, cells = {} }
    for j, column in ipairs(columns) do
      local key = M.with(item.where, { [item.rows] = name, [item.columns or item.rows] = column.name or name })
      rows[i].cells[j] = entry(study, item, measure, published, key)
    end
  end
  if item.value ~= "hours" then
    mark_all(rows, not item.columns)
  end
  local notes = notes_of(rows, columns)
  if #rows > 1 and item.columns and not study.found then
    local mean = { title = "mean", cells = {}, last = true }
    for j in ipairs(columns) do
      mean.cells[j] = mean_entry(rows, j, measure.form, published)
    end
    rows[#rows + 1] = mean
  end
  return model_of(item, measure.title, published, columns, rows, notes)
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
    local got = value_of(cell, item.value, measure)
    first = first or cell
    if got.value and (not best or got.value > best.got.value) then
      best = { got = got, cell = cell, name = name }
    end
    local theirs, sd = paper_of(published, key, item.names, columns)
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
    local text = about(cell, item.value, value_of(cell, item.value, measure))
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
    texts = { number_text(form, best.got.value, best.got.sd) .. (note and best.got.value and "*" or "") } }
  if published then
    made.texts[2], made.texts[3] = number_text(form, paper, paper_sd), difference_text(form, best.got.value, paper)
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
    texts = { ours and ("%+.1f"):format(ours) or M.MISSING } }
  if published then
    made.texts[2] = paper and ("%+.1f"):format(paper) or M.MISSING
    made.texts[3] = difference_text("%.1f", ours, paper)
  end
  return made
end

-- The gain's mean and its largest, over the rows that have one; a mean needs all of them.
local function summary_rows(rows, published)
  local mean = { title = "mean", cells = {}, last = true }
  local largest = { title = "largest", cells = {}, last = true }
  for column = 1, 3 do
    mean.cells[column] = mean_entry(rows, column, column == 3 and "%+.2f" or "%.1f", published)
    local ours, paper = {}, {}
    for _, row in ipairs(rows) do
      ours[#ours + 1], paper[#paper + 1] = row.cells[column].value, row.cells[column].paper
    end
    local top, theirs = statistics.max(ours), statistics.max(paper)
    local form = column == 3 and "%+.1f" or "%.1f"
    largest.cells[column] = { missing = not top, value = top, paper = theirs, texts = { number_text(form, top),
      published and number_text(form, theirs), published and difference_text("%.1f", top, theirs) } }
  end
  return mean, largest
end

local function side_title(item, which)
  local names = item[which]
  return item.titles and item.titles[which] or #names == 1 and names[1] or "best of " .. table.concat(names, ", ")
end

-- The best of one group of encodings against the best of another, row by row.
function M.best(study, item, published)
  local rows, measure = {}, measure_of(study, item, published)
  local columns = { { title = side_title(item, "of") }, { title = side_title(item, "against") }, { title = "gain" } }
  for i, name in ipairs(M.axis(study, item.rows)) do
    local of = side_entry(study, item, measure, published, name, "of")
    local against = side_entry(study, item, measure, published, name, "against")
    rows[i] = { title = name, cells = { of, against, gain_entry(of, against, published) } }
  end
  local notes = notes_of(rows, columns)
  local mean, largest = summary_rows(rows, published)
  rows[#rows + 1], rows[#rows + 2] = mean, largest
  return model_of(item, measure.title, published, columns, rows, notes)
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
  return share and ("%.0f%%"):format(100 * share) or M.MISSING
end

-- Of every cell: how many runs, best, median, quartiles, share that generalises, and the best learning rate.
function M.distribution(study)
  local columns, rows, notes = {}, {}, {}
  for i, title in ipairs({ "runs", "maximum", "median", "quartiles", "above 90%", "learning rate", "mean ± sd" }) do
    columns[i] = { title = title }
  end
  for i, cell in ipairs(study.cells) do
    local s = cell.summary
    local quartiles = s.lower and ("%.1f to %.1f"):format(s.lower, s.upper) or M.MISSING
    local texts = { ("%d of %d"):format(s.evaluated, s.asked), number_text("%.1f", s.max),
      number_text("%.1f", s.median), quartiles, share_text(s.good), s.best and ("%g"):format(s.best.rate) or M.MISSING,
      number_text("%.1f", s.best and s.best.mean, s.best and s.best.sd) }
    rows[i] = { title = key_text(study, cell), cells = {} }
    for j, text in ipairs(texts) do
      rows[i].cells[j] = { texts = { text }, number = cell.number, missing = text == M.MISSING }
    end
    local note = about(cell, "max", {})
    notes[#notes + 1] = note and ("%s: %s"):format(rows[i].title, note)
  end
  return { name = "distribution", title = "Every cell: accuracy in percent over all its seeds and learning rates",
    about = "quartiles are interpolated linearly; the learning rate is that of the highest mean, which stands beside "
      .. "it; sd has n - 1 in its denominator", corner = "cell", subs = { "" }, columns = columns, rows = rows,
    notes = notes }
end

return M
