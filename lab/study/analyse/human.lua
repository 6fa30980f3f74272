-- Models against people, puzzle by puzzle.
--
-- Input: groups (groups.lua) whose runs were evaluated by puzzle, and { split, human, column, trials, without, copies,
-- resamples, seed }. Output of M.of: { puzzles, human, groups, perfect, halves, vectors }, or nil and a message.
-- puzzles = { count, vectors, run, kept }, kept being the numbers that count; human[puzzle] a share; groups with {
-- accuracy = shares by puzzle, means over seeds; likeness }, a likeness being { cosine, spearman, composite }, each {
-- value, low, high }; perfect: the likeness of a model that is always right; halves: that of halves of the
-- participants, or nil; vectors: the numbers of vectors there are.
-- Invariant: copies of a base puzzle are drawn together.

local correlation = require("lab.study.analyse.mathematics.correlation")
local inference = require("lab.study.analyse.mathematics.inference")
local lists = require("base.lists")
local people = require("lab.study.read.people")
local statistics = require("lab.study.read.statistics")

local M = {}

M.MEASURES = { "cosine", "spearman", "composite" }

-- A run's share right of every puzzle, and the vectors of each; nil where it was not evaluated by puzzle.
local function by_puzzle(run, split)
  local accuracy, vectors, count = {}, {}, 0
  for _, condition in ipairs(run[split] and run[split].conditions or {}) do
    local puzzle = condition.by.puzzle
    if not puzzle then
      return nil
    end
    accuracy[puzzle], vectors[puzzle], count = condition.accuracy, condition.by.vectors, count + 1
  end
  return count > 0 and count == #accuracy and accuracy or nil, vectors
end

-- The puzzles of all runs, which must be the same; or nil and a message. Groups get `runs` with `accuracy` each.
local function puzzles_of(groups, split)
  local puzzles
  for _, group in ipairs(groups) do
    group.by_run = {}
    for i, run in ipairs(group.runs) do
      local accuracy, vectors = by_puzzle(run, split)
      if not accuracy then
        return nil, ("%s: split %s was not evaluated puzzle by puzzle\n  expected: eval.by = { puzzle = true }"):format(
          run.dir, split)
      end
      puzzles = puzzles or { count = #accuracy, vectors = vectors, run = run.dir }
      if #accuracy ~= puzzles.count then
        return nil, ("%s: %d puzzles; expected %d, as %s has"):format(run.dir, #accuracy, puzzles.count, puzzles.run)
      end
      group.by_run[i] = accuracy
    end
  end
  return puzzles or nil, "no run has a score on " .. split
end

-- The numbers of puzzles that count, by base; `without` has ids, which count from 0. Or nil and a message.
local function bases_of(puzzles, options)
  local out, bases = {}, {}
  for _, id in ipairs(options.without or {}) do
    if id >= puzzles.count then
      return nil, ("--without %d: there is no such puzzle\n  expected: ids from 0 to %d"):format(id, puzzles.count - 1)
    end
    out[id + 1] = true
  end
  puzzles.kept = {}
  for first = 1, puzzles.count, options.copies do
    local base = {}
    for puzzle = first, math.min(first + options.copies - 1, puzzles.count) do
      base[#base + 1] = not out[puzzle] and puzzle or nil
    end
    bases[#bases + 1] = #base > 0 and base or nil
    table.move(base, 1, #base, #puzzles.kept + 1, puzzles.kept)
  end
  return bases
end

-- The three measures of two lists by puzzle, over these puzzles.
local function compare(a, b, puzzles)
  local both = lists.filter(puzzles, function(puzzle) return a[puzzle] and b[puzzle] end)
  local x = lists.map(both, function(puzzle) return a[puzzle] end)
  local y = lists.map(both, function(puzzle) return b[puzzle] end)
  local cosine, spearman = correlation.cosine(x, y), correlation.spearman(x, y)
  return { cosine = cosine, spearman = spearman, composite = cosine and spearman and (cosine + spearman) / 2 }
end

local function numbers_in(bases)
  local list = {}
  for _, base in ipairs(bases) do
    lists.append(list, base)
  end
  return list
end

-- A likeness: of each measure the value, that of `point` or else the mean of the drawn comparisons, and their interval.
local function likeness_of(drawn, point)
  local result = {}
  for _, measure in ipairs(M.MEASURES) do
    local values = lists.map(drawn, function(one) return one[measure] end)
    local of = { value = (point or { [measure] = statistics.mean(values) })[measure] }
    if of.value and #values > 0 then
      of.low, of.high = inference.interval(values)
    end
    result[measure] = of
  end
  return result
end

-- With intervals from bases drawn with replacement.
local function likeness(human, accuracy, bases, options)
  return likeness_of(inference.resample(bases, function(list)
    return compare(human, accuracy, numbers_in(list))
  end, options.resamples, inference.random(options.seed)), compare(human, accuracy, numbers_in(bases)))
end

-- What one half of the participants is to the other: means over splits at random, between their quantiles.
local function halves(participants, puzzles, options)
  local drawing, list = inference.random(options.seed), {}
  for split = 1, options.resamples do
    local order = lists.join(participants, {})
    for i = #order, 2, -1 do
      local j = drawing(i)
      order[i], order[j] = order[j], order[i]
    end
    local middle = #order // 2
    list[split] = compare(people.means(table.move(order, 1, middle, 1, {}), puzzles.count),
      people.means(table.move(order, middle + 1, #order, 1, {}), puzzles.count), puzzles.kept)
  end
  return likeness_of(list)
end

local function mean_over_runs(group, count)
  local means = {}
  for puzzle = 1, count do
    local values = lists.map(group.by_run, function(accuracy) return accuracy[puzzle] end)
    means[puzzle] = statistics.mean(values)
  end
  return means
end

-- The vectors of a puzzle; 0 of all where runs were not evaluated by them.
function M.vectors(puzzles, puzzle)
  return puzzles.vectors[puzzle] or 0
end

-- Mean over the puzzles that count of some number of vectors.
function M.of_vectors(accuracy, puzzles, vectors)
  return statistics.mean(lists.map(puzzles.kept, function(puzzle)
    return M.vectors(puzzles, puzzle) == vectors and accuracy[puzzle] or nil
  end))
end

local function all_vectors(puzzles)
  local list = lists.distinct(lists.map(puzzles.kept, function(puzzle) return M.vectors(puzzles, puzzle) end))
  table.sort(list)
  return list
end

-- What people got right, from the table or from the trials.
local function humans(options, puzzles)
  local participants, accuracy, message
  if options.trials then
    participants, message = people.trials(options.trials, puzzles)
  end
  if options.human and (participants or not options.trials) then
    accuracy, message = people.accuracy(options.human, options.column, puzzles)
  elseif participants then
    accuracy = people.means(participants, puzzles.count)
  end
  return accuracy, message or participants
end

function M.of(groups, options)
  local puzzles, message = puzzles_of(groups, options.split)
  if not puzzles then
    return nil, message
  end
  local human, participants = humans(options, puzzles)
  if not human then
    return nil, participants
  end
  local bases, problem = bases_of(puzzles, options)
  if not bases then
    return nil, problem
  end
  local perfect = {}
  for puzzle = 1, puzzles.count do
    perfect[puzzle] = 1.0
  end
  for _, group in ipairs(groups) do
    group.accuracy = mean_over_runs(group, puzzles.count)
    group.likeness = likeness(human, group.accuracy, bases, options)
  end
  return { puzzles = puzzles, human = human, groups = groups, perfect = likeness(human, perfect, bases, options),
    participants = participants, halves = participants and halves(participants, puzzles, options),
    vectors = all_vectors(puzzles), bases = #bases }
end

return M
