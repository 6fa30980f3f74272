-- The cells of a study against each other, by the scores of their seeds.
--
-- Input: a study with its cells read (cells.lua) and { axis, reference, split, margin, resamples, seed }. Output of
-- M.of: { axis, sets, pairs, notes }, or nil and a message: sets and groups as groups.lua has them, of each group also
-- { mean, sd, error, low, high }, the last two the bootstrap's interval of the mean. pair =
-- { set, a, b, test, p, low, high, p_equivalence, equivalence, verdict }: two groups of a set; the test of a - b
-- (inference.welch) and its p corrected by Holm's method; the bootstrap's interval; with a margin, the p of equivalence
-- and the corrected one. The family of a correction is all pairs.
-- Invariants: groups with fewer than two scores are in no pair; scores are in percent.

local groups = require("study.analyse.groups")
local inference = require("study.analyse.inference")
local statistics = require("study.read.statistics")
local tongues = require("base.tongues")

local M = {}

local MOST_NAMED = 12 -- cells in a message

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

local function nothing_to_compare(sets, split)
  local counts = {}
  for _, set in ipairs(sets) do
    for _, group in ipairs(set.groups) do
      counts[#counts + 1] = ("%s: %d"):format(tongues.plain(groups.title(set, group)), #group.scores)
    end
  end
  local more = #counts - MOST_NAMED
  local found = table.concat(counts, "; ", 1, math.min(#counts, MOST_NAMED))
  return ("no two cells have two seeds each with a score on %s\n  found: %s\n  expected: at least two seeds of two "
    .. "cells, trained to the end"):format(split, more > 0 and ("%s; and %d more"):format(found, more) or found)
end

function M.of(study, options)
  local axis, message = groups.axis(study, options.axis)
  if not axis then
    return nil, message
  end
  local sets = groups.sets(study, axis, options.split)
  message = groups.reference_problem(sets, options.reference)
  if message then
    return nil, message
  end
  describe(sets, options)
  local list = pairs_of(sets, options.reference)
  if #list == 0 then
    return nil, nothing_to_compare(sets, options.split)
  end
  judge(list, options.margin)
  return { axis = axis, sets = sets, pairs = list, notes = groups.notes(study, sets) }
end

return M
