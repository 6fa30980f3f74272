-- The cells of a study against each other, by the scores of their seeds.
--
-- Input: a study with its cells read (cells.lua) and { axis, reference, split, margin, resamples, seed }. Output of
-- M.of: { axis, sets, pairs, notes }, or nil and a message. Cells that differ along `axis` alone (default: the last one
-- that has several values) are the groups of a set. set = { name, groups }; group = { value, name, asked, rate, rates,
-- runs, scores, mean, sd, error, low, high }: the cell's value on the axis and how it is called; its runs with a score,
-- by seed, at the learning rate of the highest mean, as reports show it; the bootstrap's interval of their mean. pair =
-- { set, a, b, test, p, low, high, p_equivalence, equivalence, verdict }: two groups of a set; the test of a - b
-- (inference.welch) and its p corrected by Holm's method; the bootstrap's interval; with a margin, the p of equivalence
-- and the corrected one. The family of a correction is all pairs.
-- Invariants: groups with fewer than two scores are in no pair; scores are in percent.

local diagnostics = require("base.diagnostics")
local inference = require("study.analyse.inference")
local runs = require("study.read.runs")
local statistics = require("study.read.statistics")
local tongues = require("base.tongues")
local views = require("study.report.views")
local wording = require("base.wording")

local M = {}

local MOST_NAMED = 12 -- cells in a message

local function axis_of(study, wanted)
  local names = {}
  for _, axis in ipairs(study.axes) do
    names[#names + 1] = #axis.values > 1 and axis.name or nil
  end
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

local function group_of(cell, axis, split)
  local best = cell.summary.best or cell.summary.rates[1]
  local group = { value = cell.key[axis], name = views.label(axis, cell.key[axis]), asked = best.asked,
    rate = best.rate, rates = count_rates(cell), runs = table.move(best.runs, 1, #best.runs, 1, {}), scores = {} }
  table.sort(group.runs, function(a, b)
    return a.seed < b.seed
  end)
  for i = #group.runs, 1, -1 do
    local score = runs.score(group.runs[i], split)
    if score then
      table.insert(group.scores, 1, score)
    else
      table.remove(group.runs, i)
    end
  end
  return group
end

local function sets_of(study, axis, split)
  local sets, at = {}, {}
  for _, cell in ipairs(study.cells) do
    local name = set_name(study, cell, axis)
    if not at[name] then
      at[name] = { name = name, groups = {} }
      sets[#sets + 1] = at[name]
    end
    table.insert(at[name].groups, group_of(cell, axis, split))
  end
  return sets
end

-- Adds what is known of each group's mean. The resampled means of a group are kept: those of a pair's difference are
-- the differences of theirs, since the groups are drawn apart.
local function describe(sets, options)
  local drawing = inference.random(options.seed)
  for _, set in ipairs(sets) do
    for _, group in ipairs(set.groups) do
      group.mean, group.sd = statistics.mean(group.scores), statistics.sd(group.scores)
      if group.sd then
        group.error = group.sd / math.sqrt(#group.scores)
        group.means = inference.resample(group.scores, statistics.mean, options.resamples, drawing)
        group.low, group.high = inference.interval(group.means)
      end
    end
  end
end

local function pair_of(set, a, b)
  local differences = {}
  for i, mean in ipairs(a.means) do
    differences[i] = mean - b.means[i]
  end
  local pair = { set = set, a = a, b = b, test = inference.welch(a.scores, b.scores) }
  pair.low, pair.high = inference.interval(differences)
  return pair
end

-- All pairs of a set's groups; with a reference, each of the others against it.
local function pairs_of(sets, reference)
  local list = {}
  for _, set in ipairs(sets) do
    for i, a in ipairs(set.groups) do
      for j, b in ipairs(set.groups) do
        local wanted = reference and b.value == reference and i ~= j or not reference and i < j
        if wanted and a.sd and b.sd then
          list[#list + 1] = pair_of(set, a, b)
        end
      end
    end
  end
  return list
end

-- Sets `key` of the pairs to the corrected p(pair), where there is one.
local function correct(list, key, p)
  local tested, values = {}, {}
  for _, pair in ipairs(list) do
    local value = p(pair)
    if value then
      tested[#tested + 1], values[#values + 1] = pair, value
    end
  end
  local corrected = inference.holm(values)
  for i, pair in ipairs(tested) do
    pair[key] = corrected[i]
  end
end

-- What the tests allow to say. Where they find nothing, nothing is said: that two means are equal, or as good as, is
-- for the test of equivalence alone.
local function verdict(pair)
  local test = pair.test
  if not test.p then
    return "no spread"
  end
  local equal = pair.equivalence and pair.equivalence < inference.ERROR
  if pair.p < inference.ERROR then
    return (test.difference > 0 and "higher" or "lower") .. (equal and ", within margin" or "")
  end
  return equal and "equivalent" or "undecided"
end

local function judge(list, margin)
  correct(list, "p", function(pair)
    return pair.test.p
  end)
  if margin then
    for _, pair in ipairs(list) do
      pair.p_equivalence = inference.equivalence(pair.test, margin)
    end
    correct(list, "equivalence", function(pair)
      return pair.p_equivalence
    end)
  end
  for _, pair in ipairs(list) do
    pair.verdict = verdict(pair)
  end
end

local function title_of(set, group)
  return (set.name ~= "" and set.name .. ", " or "") .. group.name
end

-- What is wrong where no set has a group of this value; or nil.
local function reference_problem(sets, reference)
  local names, seen = {}, {}
  for _, set in ipairs(sets) do
    for _, group in ipairs(set.groups) do
      names[#names + 1] = not seen[group.value] and tongues.plain(group.value) or nil
      seen[group.value] = true
    end
  end
  if reference and not seen[reference] then
    local nearest = diagnostics.nearest(reference, names)
    return ("--reference %s: there is no such cell\n  expected: %s%s"):format(reference, table.concat(names, ", "),
      nearest and ("\n  hint: did you mean %s?"):format(nearest) or "")
  end
end

local function nothing_to_compare(sets, split)
  local counts = {}
  for _, set in ipairs(sets) do
    for _, group in ipairs(set.groups) do
      counts[#counts + 1] = ("%s: %d"):format(tongues.plain(title_of(set, group)), #group.scores)
    end
  end
  local more = #counts - MOST_NAMED
  local found = table.concat(counts, "; ", 1, math.min(#counts, MOST_NAMED))
  return ("no two cells have two seeds each with a score on %s\n  found: %s\n  expected: at least two seeds of two "
    .. "cells, trained to the end"):format(split, more > 0 and ("%s; and %d more"):format(found, more) or found)
end

-- What one should know of the groups before one believes the tests.
local function notes_of(study, sets)
  local notes, chosen, within = {}, 0, 0
  for _, set in ipairs(sets) do
    for _, group in ipairs(set.groups) do
      if #group.scores < group.asked then
        notes[#notes + 1] = ("%s: %d of %d seeds have a score"):format(title_of(set, group), #group.scores, group.asked)
      end
      chosen = chosen + (group.rates > 1 and 1 or 0)
      for _, run in ipairs(group.runs) do
        within = within + (run.within and 1 or 0)
      end
    end
  end
  for _, cell in ipairs(study.cells) do
    for _, difference in ipairs(cell.summary.differences) do
      notes[#notes + 1] = ("%s: its runs differ, %s"):format(views.key_text(study, cell), difference)
    end
  end
  if within > 0 then
    notes[#notes + 1] = ("%s evaluated on nothing but training lengths (in distribution)"):format(within == 1
      and "1 run was" or wording.count(within, "run") .. " were")
  end
  if chosen > 0 then
    notes[#notes + 1] = ("learning rate: of %s it is the one of several with the highest mean score, chosen on these "
      .. "very seeds, so that their means are somewhat too high"):format(wording.count(chosen, "cell"))
  end
  return notes
end

function M.of(study, options)
  local axis, message = axis_of(study, options.axis)
  if not axis then
    return nil, message
  end
  local sets = sets_of(study, axis, options.split)
  message = reference_problem(sets, options.reference)
  if message then
    return nil, message
  end
  describe(sets, options)
  local list = pairs_of(sets, options.reference)
  if #list == 0 then
    return nil, nothing_to_compare(sets, options.split)
  end
  judge(list, options.margin)
  return { axis = axis, sets = sets, pairs = list, notes = notes_of(study, sets) }
end

return M
