-- The cells of a study as groups for comparisons.
--
-- Input: a study with the results of its cells (cells.lua). Output: sets { name, groups }. The groups of a set are
-- cells that differ along one axis alone; the set's name is the common values of these cells on the other axes. A
-- group:
--   set          the set that contains the group
--   cell         the group's cell
--   value        the cell's value on the axis
--   name         the label of this value
--   rate         the cell's chosen learning rate; without scores, the lowest rate
--   rate_count   the number of the cell's learning rates with a score
--   requested    the number of requested runs at the chosen rate
--   runs         the scored runs at the chosen rate, by ascending seed
--   scores       the score of each of these runs

local captions = require("lab.study.report.tables.captions")
local lists = require("base.lists")
local similar_names = require("base.similar_names")
local runs = require("lab.study.read.runs")
local escape = require("base.escape")
local score_tables = require("lab.study.report.tables.score_tables")
local seeds = require("lab.study.read.seeds")
local stop = require("lab.stop")
local wording = require("base.wording")

local M = {}

local INPUT = 1 -- exit code
local must = stop.must

-- Returns `name`; nil stands for the name of the last axis with several values. Ends the analysis if there is no such
-- axis.
function M.choose_axis(study, name)
  local names = lists.map(study.axes, function(axis) return #axis.values > 1 and axis.name or nil end)
  must(INPUT, names[1], "found a single cell; expected several cells to compare")
  name = name or names[#names]
  must(INPUT, lists.has(names, name), ("--axis %s: no such axis with several values\n  expected: %s"):format(name,
    table.concat(names, ", ")))
  return name
end

-- Returns the cell's values on the axes that have several values, without `excluded_axis`.
local function join_values(study, cell, excluded_axis)
  return table.concat(lists.map(study.axes, function(axis)
    return axis.name ~= excluded_axis and #axis.values > 1 and score_tables.label(study, axis.name,
      cell.key[axis.name]) or nil
  end), ", ")
end

-- Makes the group of a cell; the head of this file lists its fields. axis: nil if the set has all cells.
local function make_group(study, set, cell, axis, split, metric)
  local best, name = cell.summary.best_rate or cell.summary.rates[1], axis and "" or join_values(study, cell)
  axis = axis or study.axes[#study.axes].name
  local group = { set = set, value = cell.key[axis], cell = cell, requested = best.requested, rate = best.rate,
    name = name ~= "" and name or score_tables.label(study, axis, cell.key[axis]) }
  group.rate_count = lists.count(cell.summary.rates, function(rate) return rate.mean end)
  group.runs = lists.filter(best.runs, function(run) return runs.get_score(run, split, metric) end)
  table.sort(group.runs, seeds.is_before)
  group.scores = lists.map(group.runs, function(run) return runs.get_score(run, split, metric) end)
  return group
end

-- Returns the sets along an axis, with scores of this split in the study's metric. Without an axis: one set of all
-- cells; a group's name is its values on all axes with several values, and scores are token accuracies.
function M.list_sets(study, axis, split)
  local cells_by_set = lists.group(study.cells, function(cell) return axis and join_values(study, cell, axis) or "" end)
  return lists.map(cells_by_set, function(cells)
    local set = { name = cells.key }
    set.groups = lists.map(cells, function(cell)
      return make_group(study, set, cell, axis, split, axis and study.scored.metric or "accuracy")
    end)
    return set
  end)
end

function M.list_all(study, split)
  return M.list_sets(study, nil, split)[1].groups
end

function M.list_groups(sets)
  return lists.collect(sets, function(set) return set.groups end)
end

-- Removes the groups without a scored run, and sets without groups. Returns the sets; and notes on groups in which some
-- seeds have no score. Ends the analysis if no run has a score.
function M.drop_unscored(sets, split)
  local notes = lists.map(M.list_groups(sets), M.describe_missing_seeds)
  local scored_sets = lists.map(sets, function(set)
    local groups = lists.filter(set.groups, function(group) return #group.runs > 0 end)
    return #groups > 0 and { name = set.name, groups = groups } or nil
  end)
  must(INPUT, scored_sets[1], ("no run has a score on %s\n  expected: runs trained to the end"):format(split))
  return scored_sets, notes
end

-- Returns all pairs { a, b } of groups, also the pairs of a group with itself.
function M.list_pairs(groups)
  local list = {}
  for i, a in ipairs(groups) do
    for j = i, #groups do
      list[#list + 1] = { a = a, b = groups[j] }
    end
  end
  return list
end

function M.format_title(group)
  return (group.set.name ~= "" and group.set.name .. ", " or "") .. group.name
end

function M.describe_missing_seeds(group)
  return #group.runs < group.requested and ("%s: %d of %d seeds have a score"):format(M.format_title(group),
    #group.runs, group.requested) or nil
end

-- Ends the analysis if there is a reference (not nil) and no group has it in its field `key`.
function M.check_reference(groups, reference, key)
  local names = lists.drop_repeats(lists.map(groups, function(group) return group[key] end))
  if reference and not lists.has(names, reference) then
    names = lists.map(names, escape.plain)
    local hint = similar_names.make_hint(reference, names, "%s")
    stop.exit(INPUT, ("--reference %s: there is no such cell\n  expected: %s%s"):format(reference,
      table.concat(names, ", "), hint and "\n  hint: " .. hint or ""))
  end
end

-- Returns the grid (conditions of evaluation: runs.find_usual_grid) that most scores of the groups have.
function M.find_usual_grid(groups, split)
  return runs.find_usual_grid(lists.collect(groups, function(group) return group.runs end), split)
end

-- Returns notes on chosen learning rates: one note for all cells whose rate was chosen on the same examples, with the
-- number of these cells. The note has a caution if the compared scores also come from these examples.
local function note_rates(groups, split)
  local choices = lists.map(groups, function(group)
    local run = group.cell.summary.best_run
    local evaluation = group.rate_count > 1 and run and runs.get_evaluation(run, group.cell.summary.choice.set)
    return evaluation and { examples = captions.name_examples(run, evaluation),
      is_compared = evaluation == runs.get_evaluation(run, split) } or nil
  end)
  return lists.map(lists.group(choices, function(entry) return entry.examples end), function(list)
    local biased_entry = lists.find(list, function(entry) return entry.is_compared end)
    return ("learning rate: %s use the rate with the best mean over their seeds, measured %s%s"):format(
      wording.count(#list, "cell"), list.key, biased_entry and ", on the compared examples themselves, which "
      .. "makes their means somewhat too good" or "")
  end)
end

-- Returns notes for a table of groups: seeds without a score; groups whose scores have another grid (conditions of
-- evaluation) than most; cells whose runs differ or are of an earlier version; runs that were evaluated only at
-- training lengths; and the chosen learning rates.
function M.list_notes(study, groups, split)
  local notes, in_distribution_count, usual_grid = {}, 0, M.find_usual_grid(groups, split)
  for _, group in ipairs(groups) do
    notes[#notes + 1] = M.describe_missing_seeds(group)
    local shared = seeds.describe_shared(group.runs)
    notes[#notes + 1] = shared and ("%s: %s"):format(M.format_title(group), shared)
    local grid = runs.find_usual_grid(group.runs, split)
    notes[#notes + 1] = grid and grid.key ~= usual_grid.key
      and ("%s: scored on another grid than most: %s"):format(M.format_title(group), grid.text) or nil
    in_distribution_count = in_distribution_count + lists.count(group.runs, function(run) return run.is_within end)
  end
  for _, cell in ipairs(study.cells) do
    local title = score_tables.format_key(study, cell)
    lists.append(notes, lists.map(cell.summary.differences, function(difference)
      return ("%s: its runs differ, %s"):format(title, difference)
    end))
    notes[#notes + 1] = cell.changes and ("%s: its runs are of an earlier version, %s"):format(title, cell.changes)
      or nil
  end
  if in_distribution_count > 0 then
    notes[#notes + 1] = ("%s evaluated at training lengths only (in distribution)"):format(in_distribution_count == 1
      and "1 run was" or wording.count(in_distribution_count, "run") .. " were")
  end
  return lists.append(notes, note_rates(groups, split))
end

return M
