-- The cells of a study as groups for comparisons.
--
-- Input: a study with its cells read (cells.lua). Output: sets { name, groups }. The groups of a set are cells that
-- differ along one axis alone; the set's name is their values on the other axes. group = { value, name, cell, asked,
-- rate, rates, runs, scores }: the cell's value on the axis, and its label; the cell; its number of requested runs; its
-- learning rate, chosen as in reports; the number of rates with a score; the runs with a score at that rate, by seed.

local captions = require("lab.study.report.tables.captions")
local lists = require("base.lists")
local nearest = require("base.nearest")
local grids = require("lab.study.read.grids")
local runs = require("lab.study.read.runs")
local escape = require("base.escape")
local score_tables = require("lab.study.report.tables.score_tables")
local stop = require("lab.stop")
local wording = require("base.wording")

local M = {}

local must = stop.must

-- Returns the axis of this name; without a name, the last axis with several values.
function M.axis(study, wanted)
  local names = lists.map(study.axes, function(axis) return #axis.values > 1 and axis.name or nil end)
  must(1, names[1], "found a single cell; expected several cells to compare")
  wanted = wanted or names[#names]
  must(1, lists.has(names, wanted), ("--axis %s: no such axis with several values\n  expected: %s"):format(wanted,
    table.concat(names, ", ")))
  return wanted
end

-- Returns the name of a cell's set: the labels of the cell on the other axes.
local function set_name(study, cell, along)
  return table.concat(lists.map(study.axes, function(axis)
    return axis.name ~= along and #axis.values > 1 and score_tables.label(study, axis.name, cell.key[axis.name]) or nil
  end), ", ")
end

local function group_of(study, cell, axis, split, metric)
  local best = cell.summary.best or cell.summary.rates[1]
  local group = { value = cell.key[axis], name = score_tables.label(study, axis, cell.key[axis]), cell = cell,
    asked = best.asked, rate = best.rate, rates = lists.count(cell.summary.rates, function(rate) return rate.mean end) }
  group.runs = lists.map(best.runs, function(run) return runs.score(run, split, metric) and run or nil end)
  table.sort(group.runs, function(a, b) return a.seed < b.seed end)
  group.scores = lists.map(group.runs, function(run) return runs.score(run, split, metric) end)
  return group
end

-- Returns the sets, with scores of this split in the study's metric.
function M.sets(study, axis, split)
  local by_name = lists.group(study.cells, function(cell) return set_name(study, cell, axis) end)
  return lists.map(by_name, function(cells)
    return { name = cells.key, groups = lists.map(cells, function(cell)
      return group_of(study, cell, axis, split, study.scored.metric)
    end) }
  end)
end

-- Returns all cells as one list of groups, named by the values that distinguish them; scores are token accuracies.
function M.all(study, split)
  return lists.map(study.cells, function(cell)
    local group, name = group_of(study, cell, study.axes[#study.axes].name, split, "accuracy"), set_name(study, cell)
    group.name = name ~= "" and name or group.name
    return group
  end)
end

-- Returns the sets without groups that have no scored run, and without empty sets; and notes on groups in which some
-- seeds have no score. Ends the analysis if no run has a score.
function M.with_runs(sets, split)
  local notes = {}
  local full = lists.map(sets, function(set)
    local groups = lists.map(set.groups, function(group)
      notes[#notes + 1] = M.seeds_note(set, group)
      return #group.runs > 0 and group or nil
    end)
    return #groups > 0 and { name = set.name, groups = groups } or nil
  end)
  must(1, full[1], ("no run has a score on %s\n  expected: runs trained to the end"):format(split))
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

-- Returns the values of measure(one, other) for all pairs of records of two groups, without nil and false. Within one
-- group, each pair of different records counts once.
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

-- Returns the full title of a group, with the name of its set.
function M.title(set, group)
  return (set.name ~= "" and set.name .. ", " or "") .. group.name
end

-- Returns a note on a group in which some seeds have no score; nil for other groups.
function M.seeds_note(set, group)
  return #group.runs < group.asked and ("%s: %d of %d seeds have a score"):format(M.title(set, group), #group.runs,
    group.asked) or nil
end

-- Ends the analysis if no group of the sets has the reference as its `key`.
function M.check_reference(sets, reference, key)
  local values = {}
  for _, group in lists.nested(sets, "groups") do
    values[#values + 1] = group[key]
  end
  if reference and not lists.has(values, reference) then
    local names = lists.map(lists.distinct(values), escape.plain)
    local hint = nearest.hint(reference, names, "%s")
    stop.with(1, ("--reference %s: there is no such cell\n  expected: %s%s"):format(reference,
      table.concat(names, ", "), hint and "\n  hint: " .. hint or ""))
  end
end

-- Returns the grid of scores (grids.lua) that most runs of all groups have.
function M.grid(sets, split)
  local list = {}
  for _, group in lists.nested(sets, "groups") do
    lists.append(list, group.runs)
  end
  return grids.usual(list, split)
end

-- Returns a note on a group whose scores have another grid than most; nil for other groups.
local function grid_note(set, group, usual, split)
  local grid = grids.usual(group.runs, split)
  return grid and grid.key ~= usual.key and ("%s: its scores have another grid than most, %s"):format(
    M.title(set, group), grid.text) or nil
end

-- Returns words for the choice of a group's rate among several rates; and whether the compared examples decided it.
local function choice_of(group, split)
  local choice, run = group.cell.summary.choice, group.cell.summary.top
  local evaluation = group.rates > 1 and run and runs.evaluation(run, choice.set)
  if not evaluation then
    return nil
  end
  return captions.place(run, evaluation), evaluation == runs.evaluation(run, split)
end

-- Returns notes on rates: for each set of examples that chose rates, the number of cells.
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
    return ("learning rate: %s have the rate with the best mean over these seeds %s%s"):format(
      wording.count(counts[place], "cell"), place, biased[place] and ", on the compared examples themselves, which "
      .. "makes their means somewhat too good" or "")
  end)
end

-- Returns cautions about the groups, for readers of the tests.
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
    notes[#notes + 1] = ("%s evaluated at training lengths only (in distribution)"):format(within == 1
      and "1 run was" or wording.count(within, "run") .. " were")
  end
  return lists.append(notes, rate_notes(sets, split))
end

return M
