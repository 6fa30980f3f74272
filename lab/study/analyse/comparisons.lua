-- The cells of a study against each other, by the scores of their seeds.
--
-- Input: a study with its cells read (cells.lua) and { axis, reference, split, margin, above, resamples, seed }. Output
-- of M.of: { axis, metric, criterion, sets, pairs, grid, answers, notes }, or nil and a message: grid is what most
-- scores are the mean of (grids.lua), answers how they came about (captions.lua).
--   sets and groups are as groups.lua has them, of each group also { mean, sd, error, low, high, generalise, judged,
-- share_low, share_high, clumped }: the bootstrap's interval of the mean; how many of its seeds generalise by the
-- criterion (metrics.lua), of how many, with the exact interval of that share; whether its seeds are two clumps.
--   pair = { set, a, b, test, method, raw, p, low, high, least, reachable, permutation, splits, fisher, fisher_p,
-- p_equivalence, equivalence, verdict }: two groups of a set; the test of a - b (inference.welch); the method that
-- decides, "Welch" or "permutation", its p and that corrected by Holm's method, nil where all seeds of both have one
-- score; the bootstrap's interval; the least p of a permutation test of so many seeds, and the least p that the
-- correction could leave; p of the permutation test and how many splits it is of; Fisher's of the two shares, and
-- corrected; with a margin, the p of equivalence and the corrected one. The family of a correction is all pairs.
-- Invariants: groups with fewer than two scores are in no pair; scores are in the unit of the metric.

local captions = require("lab.study.report.tables.captions")
local exact = require("lab.study.analyse.mathematics.exact")
local groups = require("lab.study.analyse.groups")
local inference = require("lab.study.analyse.mathematics.inference")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local statistics = require("lab.study.read.statistics")
local tongues = require("base.tongues")

local M = {}

local MOST_NAMED = 12 -- cells in a message
local APART = 0.05    -- of a metric's full scale: two clumps of seeds have at least that much between them

-- Whether a group's seeds are two clumps: some generalise and some do not, and between the two is more than either is
-- wide.
local function is_clumped(group, passed, metric)
  local ends = { [true] = { math.huge, -math.huge }, [false] = { math.huge, -math.huge } }
  for i, score in ipairs(group.scores) do
    local clump = ends[passed[i]]
    if not clump then
      return false
    end
    clump[1], clump[2] = math.min(clump[1], score), math.max(clump[2], score)
  end
  local good, bad = ends[true], ends[false]
  local gap = math.max(good[1] - bad[2], bad[1] - good[2])
  return gap < math.huge and gap > math.max(good[2] - good[1], bad[2] - bad[1])
    and gap >= APART * metrics.of[metric].factor
end

-- Adds how many seeds of a group generalise.
local function judge_seeds(group, split, metric, criterion)
  local passed, count, judged = {}, 0, 0
  for i, run in ipairs(group.runs) do
    passed[i] = metrics.generalises(runs.score(run, split, criterion.metric), criterion)
    judged, count = judged + (passed[i] ~= nil and 1 or 0), count + (passed[i] and 1 or 0)
  end
  group.generalise, group.judged, group.clumped = count, judged, is_clumped(group, passed, metric)
  if judged > 0 then
    group.share_low, group.share_high = exact.interval(count, judged, inference.ERROR)
  end
end

-- Adds what is known of each group's mean. The resampled means of a group are kept: those of a pair's difference are
-- the differences of theirs, since the groups are drawn apart.
local function describe(sets, metric, criterion, options)
  local drawing = inference.random(options.seed)
  for _, group in lists.nested(sets, "groups") do
    judge_seeds(group, options.split, metric, criterion)
    group.mean, group.sd = statistics.mean(group.scores), statistics.sd(group.scores)
    if group.sd then
      group.error = group.sd / math.sqrt(#group.scores)
      group.means = inference.resample(group.scores, statistics.mean, options.resamples, drawing)
      group.low, group.high = inference.interval(group.means)
    end
  end
end

local function pair_of(set, a, b)
  local pair = { set = set, a = a, b = b, test = inference.welch(a.scores, b.scores) }
  pair.low, pair.high = inference.interval(lists.map(a.means, function(mean, i) return mean - b.means[i] end))
  return pair
end

-- Adds the tests that suppose nothing of how scores are spread, and which test decides: Welch's where the seeds of both
-- groups are spread and in one clump. The permutation test draws its splits from a sequence of its own.
local function test_exactly(pair, options)
  local a, b = pair.a, pair.b
  pair.permutation, pair.splits, pair.least = exact.permutation(a.scores, b.scores, options.resamples,
    inference.random(options.seed))
  pair.fisher = a.judged > 0 and b.judged > 0 and exact.fisher(a.generalise, a.judged, b.generalise, b.judged) or nil
  local smooth = inference.varies(a.scores) and inference.varies(b.scores) and not a.clumped and not b.clumped
  pair.method = smooth and "Welch" or "permutation"
  local all_equal = not pair.test.p and pair.permutation == 1
  pair.raw = smooth and pair.test.p or not all_equal and pair.permutation or nil
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
  local tested = lists.map(list, function(pair) return p(pair) and pair or nil end)
  for i, corrected in ipairs(inference.holm(lists.map(tested, p))) do
    tested[i][key] = corrected
  end
end

-- What the tests allow to say. Where they find nothing, nothing is said: that two means are equal, or as good as, is
-- for the test of equivalence alone.
local function verdict(pair)
  if not pair.raw then
    return "no spread"
  end
  local equal = pair.equivalence and pair.equivalence < inference.ERROR
  if pair.p < inference.ERROR then
    return (pair.test.difference > 0 and "higher" or "lower") .. (equal and ", within margin" or "")
  end
  return equal and "equivalent" or pair.reachable >= inference.ERROR and "too few seeds" or "undecided"
end

local function judge(list, options)
  for _, pair in ipairs(list) do
    test_exactly(pair, options)
    pair.p_equivalence = options.margin and inference.equivalence(pair.test, options.margin)
  end
  for key, of in pairs({ p = "raw", fisher_p = "fisher", equivalence = "p_equivalence" }) do
    correct(list, key, function(pair) return pair[of] end)
  end
  -- `reachable` is what the correction would leave of p if all were as small as so many seeds can make them: 0 of tests
  -- that are no permutation test.
  correct(list, "reachable", function(pair)
    return pair.raw and (pair.method == "permutation" and pair.least or 0.0)
  end)
  for _, pair in ipairs(list) do
    pair.verdict = verdict(pair)
  end
end

local function nothing_to_compare(sets, split)
  local counts = {}
  for set, group in lists.nested(sets, "groups") do
    counts[#counts + 1] = ("%s: %d"):format(tongues.plain(groups.title(set, group)), #group.scores)
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
  message = groups.reference_problem(sets, options.reference, "value")
  if message then
    return nil, message
  end
  local metric, criterion = study.scored.metric, study.scored.generalises
  if options.above and metrics.of[metric].unit ~= "percent" then
    return nil, ("--above %g: a %s is no share\n  expected: --metric exact_match, or another of shares"):format(
      options.above, metrics.of[metric].title)
  elseif options.above then
    criterion = { metric = metric, above = options.above }
  end
  describe(sets, metric, criterion, options)
  local list = pairs_of(sets, options.reference)
  if #list == 0 then
    return nil, nothing_to_compare(sets, options.split)
  end
  judge(list, options)
  return { axis = axis, metric = metric, criterion = criterion, sets = sets, pairs = list,
    grid = groups.grid(sets, options.split), answers = captions.answers(study),
    notes = groups.notes(study, sets, options.split) }
end

return M
