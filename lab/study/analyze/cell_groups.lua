-- The cells of a study as groups for comparisons.
--
-- Input: a study with its cells read (cells.lua). Output: sets, in the order of the cells: cells that differ along one
-- axis alone are the groups of a set. set = { name, groups }, its name being its values on the other axes; group =
-- { value, name, cell, asked, rate, rates, runs, scores }: the cell's value on the axis and its name; its runs with a
-- score, by seed, at the learning rate of the best mean, as reports show it; and the number of rates with a score.

local captions = require("lab.study.report.tables.captions")
local lists = require("base.lists")
local nearest = require("base.nearest")
local grids = require("lab.study.read.grids")
local runs = require("lab.study.read.runs")
local escape = require("base.escape")
local score_tables = require("lab.study.report.tables.score_tables")
local wording = require("base.wording")

local M = {}

-- The axis of this name; without a name, the last with several values. nil and a message if there is none.
function M.axis(study, wanted)
  local names = lists.map(study.axes, function(axis) return #axis.values > 1 and axis.name or nil end)
  if #names == 0 then
    return nil, "there is a single cell; expected several to compare"
  end
  if lists.has(names, wanted or names[#names]) then
    return wanted or names[#names]
  end
  return nil, ("--axis %s: cells differ along no such axis\n  expected: %s"):format(wanted, table.concat(names, ", "))
end

-- A set's name: the labels of a cell on the other axes.
local function set_name(study, cell, along)
  return table.concat(lists.map(study.axes, function(axis)
    return axis.name ~= along and #axis.values > 1 and score_tables.label(axis.name, cell.key[axis.name]) or nil
  end), ", ")
end

local function group_of(cell, axis, split, metric)
  local best = cell.summary.best or cell.summary.rates[1]
  local group = { value = cell.key[axis], name = score_tables.label(axis, cell.key[axis]), cell = cell,
    asked = best.asked, rate = best.rate, rates = lists.count(cell.summary.rates, function(rate) return rate.mean end) }
  group.runs = lists.map(best.runs, function(run) return runs.score(run, split, metric) and run or nil end)
  table.sort(group.runs, function(a, b) return a.seed < b.seed end)
  group.scores = lists.map(group.runs, function(run) return runs.score(run, split, metric) end)
  return group
end

-- The sets with the scores of this split in the study's metric.
function M.sets(study, axis, split)
  local by_name = lists.group(study.cells, function(cell) return set_name(study, cell, axis) end)
  return lists.map(by_name, function(cells)
    return { name = cells.key, groups = lists.map(cells, function(cell)
      return group_of(cell, axis, split, study.scored.metric)
    end) }
  end)
end

-- All cells as one list of groups, each named by the values that distinguish it; scores are token accuracies.
function M.all(study, split)
  return lists.map(study.cells, function(cell)
    local group, name = group_of(cell, study.axes[#study.axes].name, split, "accuracy"), set_name(study, cell)
    group.name = name ~= "" and name or group.name
    return group
  end)
end

-- The sets without groups that have no run, and without sets of a single group; and notes on groups in which some seeds
-- have no score. Or nil and a message: no group has a run.
function M.with_runs(sets, split)
  local notes = {}
  local full = lists.map(sets, function(set)
    local groups = lists.map(set.groups, function(group)
      notes[#notes + 1] = M.seeds_note(set, group)
      return #group.runs > 0 and group or nil
    end)
    return #groups > 0 and { name = set.name, groups = groups } or nil
  end)
  if #full == 0 then
    return nil, ("no run has a score on %s\n  expected: runs trained to the end"):format(split)
  end
  return full, notes
end

-- Calls visit(a, b) for every pair of groups, including each group with itself.
function M.each_pair(list, visit)
  for i, a in ipairs(list) do
    for j = i, #list do
      visit(a, list[j])
    end
  end
end

-- Values of measure(one, other) for all pairs of records of two groups, without nil and false. For a group and itself,
-- each pair of different records counts once.
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

-- The title of a group, whatever its set.
function M.title(set, group)
  return (set.name ~= "" and set.name .. ", " or "") .. group.name
end

-- A note on a group in which some seeds have no score; nil for others.
function M.seeds_note(set, group)
  return #group.runs < group.asked and ("%s: %d of %d seeds have a score"):format(M.title(set, group), #group.runs,
    group.asked) or nil
end

-- An error message if no group of the sets has the reference as its `key`; or nil.
function M.reference_problem(sets, reference, key)
  local values = {}
  for _, group in lists.nested(sets, "groups") do
    values[#values + 1] = group[key]
  end
  if reference and not lists.has(values, reference) then
    local names = lists.map(lists.distinct(values), escape.plain)
    local hint = nearest.hint(reference, names, "%s")
    return ("--reference %s: there is no such cell\n  expected: %s%s"):format(reference, table.concat(names, ", "),
      hint and "\n  hint: " .. hint or "")
  end
end

-- The grid of scores that most runs of all groups have (grids.lua).
function M.grid(sets, split)
  local list = {}
  for _, group in lists.nested(sets, "groups") do
    lists.append(list, group.runs)
  end
  return grids.usual(list, split)
end

-- A note on a group whose scores are means over other lengths than most; nil for others.
local function grid_note(set, group, usual, split)
  local grid = grids.usual(group.runs, split)
  return grid and grid.key ~= usual.key and ("%s: its scores are of another grid than the others, %s"):format(
    M.title(set, group), grid.text) or nil
end

-- Words for the choice of a group's rate among several; second whether the compared examples decided it.
local function choice_of(group, split)
  local choice, run = group.cell.summary.choice, group.cell.summary.top
  local evaluation = group.rates > 1 and run and runs.evaluation(run, choice.set)
  if not evaluation then
    return nil
  end
  return captions.place(run, evaluation), evaluation == runs.evaluation(run, split)
end

-- Notes on rates: the number of cells for each set that chose their rates.
local function rate_notes(sets, split)
  local counts, order, biased = {}, {}, {}
  for _, group in lists.nested(sets, "groups") do
    local place, same = choice_of(group, split)
    if place then
      order[#order + 1] = not counts[place] and place or nil
      counts[place], biased[place] = (counts[place] or 0) + 1, biased[place] or same
    end
  end
  return lists.map(order, function(place)
    return ("learning rate: of %s it is the one of several with the best mean over these seeds %s%s"):format(
      wording.count(counts[place], "cell"), place, biased[place] and ", on the very examples that are compared, so "
      .. "that their means are somewhat too good" or "")
  end)
end

-- Cautions about the groups, for readers of the tests.
function M.notes(study, sets, split)
  local notes, within, usual = {}, 0, M.grid(sets, split)
  for set, group in lists.nested(sets, "groups") do
    notes[#notes + 1] = M.seeds_note(set, group)
    notes[#notes + 1] = grid_note(set, group, usual, split)
    within = within + lists.count(group.runs, function(run) return run.within end)
  end
  for _, cell in ipairs(study.cells) do
    for _, difference in ipairs(cell.summary.differences) do
      notes[#notes + 1] = ("%s: its runs differ, %s"):format(score_tables.key_text(study, cell), difference)
    end
    notes[#notes + 1] = cell.anew and ("%s: its runs are of an earlier version, %s"):format(
      score_tables.key_text(study, cell), cell.anew) or nil
  end
  if within > 0 then
    notes[#notes + 1] = ("%s evaluated on nothing but training lengths (in distribution)"):format(within == 1
      and "1 run was" or wording.count(within, "run") .. " were")
  end
  return lists.append(notes, rate_notes(sets, split))
end

return M
