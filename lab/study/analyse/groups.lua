-- The cells of a study as groups to set against each other.
--
-- Input: a study with its cells read (cells.lua). Output: sets, in the order of the cells: cells that differ along one
-- axis alone are the groups of a set. set = { name, groups }, its name being where it stands on the other axes; group =
-- { value, name, cell, asked, rate, rates, runs, scores }: the cell's value on the axis and how it is called; its runs
-- with a score, by seed, at the learning rate of the best mean, as reports show it; and how many rates have one.

local captions = require("lab.study.report.tables.captions")
local lists = require("base.lists")
local nearest = require("base.nearest")
local grids = require("lab.study.read.grids")
local runs = require("lab.study.read.runs")
local tongues = require("base.tongues")
local views = require("lab.study.report.tables.views")
local wording = require("base.wording")

local M = {}

-- The axis of this name; without one, the last that has several values. nil and a message where there is none.
function M.axis(study, wanted)
  local names = lists.map(study.axes, function(axis) return #axis.values > 1 and axis.name or nil end)
  if #names == 0 then
    return nil, "there is a single cell; expected several to compare"
  end
  for _, name in ipairs(names) do
    if name == (wanted or names[#names]) then
      return name
    end
  end
  return nil, ("--axis %s: cells differ along no such axis\n  expected: %s"):format(wanted, table.concat(names, ", "))
end

-- Where a cell stands along the other axes.
local function set_name(study, cell, along)
  local parts = {}
  for _, axis in ipairs(study.axes) do
    parts[#parts + 1] = axis.name ~= along and #axis.values > 1 and views.label(axis.name, cell.key[axis.name]) or nil
  end
  return table.concat(parts, ", ")
end

-- How many learning rates of a cell have a score.
local function count_rates(cell)
  local count = 0
  for _, rate in ipairs(cell.summary.rates) do
    count = count + (rate.mean and 1 or 0)
  end
  return count
end

local function group_of(cell, axis, split, metric)
  local best = cell.summary.best or cell.summary.rates[1]
  local group = { value = cell.key[axis], name = views.label(axis, cell.key[axis]), cell = cell, asked = best.asked,
    rate = best.rate, rates = count_rates(cell), runs = table.move(best.runs, 1, #best.runs, 1, {}), scores = {} }
  table.sort(group.runs, function(a, b)
    return a.seed < b.seed
  end)
  for i = #group.runs, 1, -1 do
    local score = runs.score(group.runs[i], split, metric)
    if score then
      table.insert(group.scores, 1, score)
    else
      table.remove(group.runs, i)
    end
  end
  return group
end

-- The sets with the scores of this split in the metric of the study's.
function M.sets(study, axis, split)
  local sets, at = {}, {}
  for _, cell in ipairs(study.cells) do
    local name = set_name(study, cell, axis)
    if not at[name] then
      at[name] = { name = name, groups = {} }
      sets[#sets + 1] = at[name]
    end
    table.insert(at[name].groups, group_of(cell, axis, split, study.scored.metric))
  end
  return sets
end

-- All cells as one list of groups, each called by what tells it from the others; scores are token accuracies.
function M.all(study, split)
  local list = {}
  for i, cell in ipairs(study.cells) do
    list[i] = group_of(cell, study.axes[#study.axes].name, split, "accuracy")
    local name = set_name(study, cell)
    list[i].name = name ~= "" and name or list[i].name
  end
  return list
end

-- Calls visit(a, b) for every pair of groups, each with itself, too.
function M.each_pair(list, visit)
  for i, a in ipairs(list) do
    for j = i, #list do
      visit(a, list[j])
    end
  end
end

-- What measure(one, other) gives for all pairs of records of two groups, without what is nil or false; of a group and
-- itself, for all pairs of different ones.
function M.over_pairs(a, b, measure)
  local values = {}
  for i, one in ipairs(a.records) do
    for j = a == b and i + 1 or 1, #b.records do
      local value = measure(one, b.records[j])
      values[#values + 1] = value or nil
    end
  end
  return values
end

-- A group by name, whatever the set.
function M.title(set, group)
  return (set.name ~= "" and set.name .. ", " or "") .. group.name
end

-- What is wrong where no set has a group of this value; or nil.
function M.reference_problem(sets, reference)
  local names, seen = {}, {}
  for _, set in ipairs(sets) do
    for _, group in ipairs(set.groups) do
      names[#names + 1] = not seen[group.value] and tongues.plain(group.value) or nil
      seen[group.value] = true
    end
  end
  if reference and not seen[reference] then
    local hint = nearest.hint(reference, names, "%s")
    return ("--reference %s: there is no such cell\n  expected: %s%s"):format(reference, table.concat(names, ", "),
      hint and "\n  hint: " .. hint or "")
  end
end

-- What most runs of all groups have as the grid of their scores (grids.lua).
function M.grid(sets, split)
  local list = {}
  for _, set in ipairs(sets) do
    for _, group in ipairs(set.groups) do
      table.move(group.runs, 1, #group.runs, #list + 1, list)
    end
  end
  return grids.usual(list, split)
end

-- A group whose scores are means over other lengths than those of most.
local function grid_note(set, group, usual, split)
  local grid = grids.usual(group.runs, split)
  return grid and grid.key ~= usual.key and ("%s: its scores are of another grid than the others, %s"):format(
    M.title(set, group), grid.text) or nil
end

-- How the rate of a group was chosen among several; second whether that was on the examples that are compared.
local function choice_of(group, split)
  local choice, run = group.cell.summary.choice, group.cell.summary.top
  local evaluation = group.rates > 1 and run and runs.evaluation(run, choice.set)
  if not evaluation then
    return nil
  end
  return captions.place(run, evaluation), evaluation == runs.evaluation(run, split)
end

-- Notes on rates: of so many cells, chosen where.
local function rate_notes(sets, split)
  local counts, order, biased = {}, {}, {}
  for _, set in ipairs(sets) do
    for _, group in ipairs(set.groups) do
      local place, same = choice_of(group, split)
      if place then
        order[#order + 1] = not counts[place] and place or nil
        counts[place], biased[place] = (counts[place] or 0) + 1, biased[place] or same
      end
    end
  end
  for i, place in ipairs(order) do
    order[i] = ("learning rate: of %s it is the one of several with the best mean over these seeds %s%s"):format(
      wording.count(counts[place], "cell"), place, biased[place] and ", on the very examples that are compared, so "
      .. "that their means are somewhat too good" or "")
  end
  return order
end

-- What one should know of the groups before one believes the tests.
function M.notes(study, sets, split)
  local notes, within, usual = {}, 0, M.grid(sets, split)
  for _, set in ipairs(sets) do
    for _, group in ipairs(set.groups) do
      if #group.scores < group.asked then
        notes[#notes + 1] = ("%s: %d of %d seeds have a score"):format(M.title(set, group), #group.scores, group.asked)
      end
      notes[#notes + 1] = grid_note(set, group, usual, split)
      for _, run in ipairs(group.runs) do
        within = within + (run.within and 1 or 0)
      end
    end
  end
  for _, cell in ipairs(study.cells) do
    for _, difference in ipairs(cell.summary.differences) do
      notes[#notes + 1] = ("%s: its runs differ, %s"):format(views.key_text(study, cell), difference)
    end
    notes[#notes + 1] = cell.anew and ("%s: its runs are of an earlier version, %s"):format(views.key_text(study, cell),
      cell.anew) or nil
  end
  if within > 0 then
    notes[#notes + 1] = ("%s evaluated on nothing but training lengths (in distribution)"):format(within == 1
      and "1 run was" or wording.count(within, "run") .. " were")
  end
  local rates = rate_notes(sets, split)
  return table.move(rates, 1, #rates, #notes + 1, notes)
end

return M
