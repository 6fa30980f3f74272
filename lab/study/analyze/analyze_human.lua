-- Accuracies of models compared with those of humans, puzzle by puzzle (docs/analyses.md).
--
-- Input: a study with its cells read, whose runs were evaluated by puzzle, and { split, human, column, trials, without,
-- copies, resamples, seed }. Output: as in analyze.lua, with the files human.csv (a cell per line), puzzles.csv,
-- vectors.csv, human.gnuplot.

local correlation = require("lab.study.analyze.mathematics.correlation")
local cell_groups = require("lab.study.analyze.cell_groups")
local inference = require("lab.study.analyze.mathematics.inference")
local lists = require("base.lists")
local panels = require("lab.study.analyze.pictures.panels")
local human_data = require("lab.study.read.human_data")
local scatter = require("lab.study.analyze.pictures.scatter")
local sheets = require("lab.study.analyze.sheets")
local statistics = require("lab.study.read.statistics")
local wording = require("base.wording")

local M = {}

local number, must = sheets.number, require("lab.stop").must

local PEOPLE, PERFECT = "people", "always right"
local ACROSS = 5 -- panels in a row of the picture
local SHARES = { -0.05, 1.05, 0.25 } -- an axis of shares: both ends, and the step of its tics
local SETTINGS = { "unset key", "unset colorbox", "set border 3 lc rgb '#444444'",
  "set tics nomirror scale 0.4 font ',8' textcolor rgb '#444444'", "set xtics offset 0,0.4", "set ytics offset 0.6,0" }

-- ---- the similarity ----

local MEASURES = { "cosine", "spearman", "composite" }

-- Returns a run's share of correct answers and number of vectors by puzzle; nil if it was not evaluated by puzzle.
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

-- Returns the puzzles of all runs, which must agree. Sets group.by_run, the shares of its runs.
local function puzzles_of(groups, split)
  local puzzles
  for _, group in ipairs(groups) do
    group.by_run = {}
    for i, run in ipairs(group.runs) do
      local accuracy, vectors = by_puzzle(run, split)
      must(1, accuracy, ("%s: split %s was not evaluated puzzle by puzzle\n  expected: eval.by = { puzzle = true }")
        :format(run.dir, split))
      puzzles = puzzles or { count = #accuracy, vectors = vectors, run = run.dir }
      must(1, #accuracy == puzzles.count, ("%s: %d puzzles; expected %d, as %s has"):format(run.dir, #accuracy,
        puzzles.count, puzzles.run))
      group.by_run[i] = accuracy
    end
  end
  return (must(1, puzzles, "no run has a score on " .. split))
end

-- Returns lists of the included puzzles' numbers, one for each base. `without` holds ids, from 0.
local function bases_of(puzzles, options)
  local out, bases = {}, {}
  for _, id in ipairs(options.without or {}) do
    must(1, id < puzzles.count, ("--without %d: there is no such puzzle\n  expected: ids from 0 to %d"):format(id,
      puzzles.count - 1))
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

-- Returns the three measures of two lists of shares, over the given puzzles.
local function compare(a, b, puzzles)
  local both = lists.filter(puzzles, function(puzzle) return a[puzzle] and b[puzzle] end)
  local x = lists.map(both, function(puzzle) return a[puzzle] end)
  local y = lists.map(both, function(puzzle) return b[puzzle] end)
  local cosine, spearman = correlation.cosine(x, y), correlation.spearman(x, y)
  return { cosine = cosine, spearman = spearman, composite = cosine and spearman and (cosine + spearman) / 2 }
end

local function numbers_in(bases)
  return lists.flat(bases, function(base) return base end)
end

-- Returns a similarity: each measure's value, from `point` or as the mean of the samples, and its interval.
local function similarity_of(drawn, point)
  local result = {}
  for _, measure in ipairs(MEASURES) do
    local values = lists.map(drawn, function(one) return one[measure] end)
    local of = { value = (point or { [measure] = statistics.mean(values) })[measure] }
    if of.value and #values > 0 then
      of.low, of.high = inference.interval(values)
    end
    result[measure] = of
  end
  return result
end

-- Returns the similarity of a model's accuracies to human accuracies. Intervals: bases resampled with replacement.
local function similarity(human, accuracy, bases, options)
  return similarity_of(inference.resample(bases, function(list)
    return compare(human, accuracy, numbers_in(list))
  end, options.resamples, inference.random(options.seed)), compare(human, accuracy, numbers_in(bases)))
end

-- Returns the similarity between random halves of the participants: means and quantiles over the random splits.
local function halves(participants, puzzles, options)
  local drawing, list = inference.random(options.seed), {}
  for split = 1, options.resamples do
    local order = lists.join(participants, {})
    for i = #order, 2, -1 do
      local j = drawing(i)
      order[i], order[j] = order[j], order[i]
    end
    local middle = #order // 2
    list[split] = compare(human_data.means(table.move(order, 1, middle, 1, {}), puzzles.count),
      human_data.means(table.move(order, middle + 1, #order, 1, {}), puzzles.count), puzzles.kept)
  end
  return similarity_of(list)
end

-- Returns the number of vectors of a puzzle; 0 for all puzzles if runs were not evaluated by vectors.
local function vectors_of(puzzles, puzzle)
  return puzzles.vectors[puzzle] or 0
end

-- Returns the mean accuracy over the included puzzles with this number of vectors.
local function mean_of(accuracy, puzzles, vectors)
  return statistics.mean(lists.map(puzzles.kept, function(puzzle)
    return vectors_of(puzzles, puzzle) == vectors and accuracy[puzzle] or nil
  end))
end

local function all_vectors(puzzles)
  local list = lists.distinct(lists.map(puzzles.kept, function(puzzle) return vectors_of(puzzles, puzzle) end))
  table.sort(list)
  return list
end

-- Returns human accuracy by puzzle, from the table or the trials, and the participants of the trials.
local function humans(options, puzzles)
  local participants = options.trials and human_data.trials(options.trials, puzzles)
  local accuracy = options.human and human_data.accuracy(options.human, options.column, puzzles)
    or human_data.means(participants, puzzles.count)
  return accuracy, participants
end

-- Returns the comparison { puzzles, human, groups, perfect, halves, vectors }. puzzles: { count,
-- vectors, run, kept }, where kept lists the included puzzles. human[puzzle]: a share. Each group has accuracy, shares
-- by puzzle as means over seeds, and similarity: { cosine, spearman, composite }, each { value, low, high }. perfect:
-- the similarity of a model that is always right. halves: the similarity of halves of the participants, or nil.
-- vectors: the occurring numbers of vectors. Copies of a base puzzle are resampled together.
local function set_against(groups, options)
  local puzzles = puzzles_of(groups, options.split)
  local human, participants = humans(options, puzzles)
  local bases, perfect = bases_of(puzzles, options), {}
  for puzzle = 1, puzzles.count do
    perfect[puzzle] = 1.0
  end
  for _, group in ipairs(groups) do
    group.accuracy = human_data.means(lists.map(group.by_run, function(accuracy)
      return { share = accuracy }
    end), puzzles.count)
    group.similarity = similarity(human, group.accuracy, bases, options)
  end
  return { puzzles = puzzles, human = human, groups = groups, perfect = similarity(human, perfect, bases, options),
    participants = participants, halves = participants and halves(participants, puzzles, options),
    vectors = all_vectors(puzzles), bases = #bases }
end

-- ---- output ----

-- Returns a list of { name, count, similarity }: humans with each other, a model that is always right, the cells.
local function compared(result)
  local list = {}
  if result.halves then
    list[1] = { name = PEOPLE .. ", half against half", count = #result.participants, similarity = result.halves }
  end
  list[#list + 1] = { name = PERFECT, similarity = result.perfect }
  return lists.append(list, lists.map(result.groups, function(group)
    return { name = group.name, count = #group.by_run, similarity = group.similarity }
  end))
end

local function similarity_table(result, options)
  local rows = lists.map(compared(result), function(item)
    local row = { item.name, number("%d", item.count) }
    for _, measure in ipairs(MEASURES) do
      local of = item.similarity[measure]
      lists.append(row, { number("%.4f", of.value), number("%.3f to %.3f", of.low, of.high) })
    end
    return row
  end)
  return sheets.table({ name = "human", title = ("Accuracy of humans and models by puzzle: %d puzzles of %s"):format(
    #result.puzzles.kept, wording.count(result.bases, "base")), about = ("split %s, means over seeds; composite: mean "
    .. "of cosine and rank correlation (Spearman's, equal numbers share their ranks); intervals: 95%% of %d resamples "
    .. "of bases, copies together"):format(options.split, options.resamples), heads = { "cell", "seeds", "cosine",
    "interval", "Spearman", "interval", "composite", "interval" }, rows = rows, notes = { ("The cosine says little: it "
    .. "is %s for a model that is always right, and similar for all models that have learned the task. Compare the "
    .. "rank correlations."):format(number("%.4f", result.perfect.cosine.value)) } })
end

-- Returns the accuracies for a number of vectors: one for each participant or seed.
local function of_vectors(item, result, vectors)
  return lists.map(item.lists, function(accuracy) return mean_of(accuracy, result.puzzles, vectors) end)
end

-- Returns { name, lists } of the humans and of each cell: lists has the shares of each participant or seed by puzzle.
local function everybody(result)
  local shares = lists.map(result.participants or {}, function(one) return one.share end)
  return lists.append({ { name = PEOPLE, lists = shares[1] and shares or { result.human } } }, lists.map(
    result.groups, function(group) return { name = group.name, lists = group.by_run } end))
end

local function vectors_table(result)
  return sheets.table({ name = "vectors", title = "Accuracy by vectors", about = "mean ± sd (n - 1) over participants "
    .. "or seeds; for humans without trials, only the mean", heads = lists.join({ "", "humans or seeds" },
    lists.map(result.vectors, function(vectors) return vectors > 0 and wording.count(vectors, "vector") or "all" end)),
    rows = lists.map(everybody(result), function(item)
      return lists.join({ item.name, ("%d"):format(#item.lists) }, lists.map(result.vectors, function(vectors)
        return sheets.mean_and_sd("%.3f", of_vectors(item, result, vectors))
      end))
    end) })
end

local function human_csv(result)
  return sheets.csv("human.csv", "cell,seeds,cosine,cosine_low,cosine_high,spearman,spearman_low,spearman_high,"
    .. "composite,composite_low,composite_high", function(add)
      for _, item in ipairs(compared(result)) do
        local l = item.similarity
        add(item.name, item.count, l.cosine.value, l.cosine.low, l.cosine.high, l.spearman.value, l.spearman.low,
          l.spearman.high, l.composite.value, l.composite.low, l.composite.high)
      end
    end)
end

local function puzzles_csv(result, options)
  return sheets.csv("puzzles.csv", "cell,puzzle,base,vectors,human,accuracy", function(add)
    for _, group in ipairs(result.groups) do
      for _, puzzle in ipairs(result.puzzles.kept) do
        add(group.name, puzzle, (puzzle - 1) // options.copies + 1, result.puzzles.vectors[puzzle],
          result.human[puzzle], group.accuracy[puzzle])
      end
    end
  end)
end

local function vectors_csv(result)
  return sheets.csv("vectors.csv", "who,vectors,count,mean,sd", function(add)
    for _, item in ipairs(everybody(result)) do
      for _, vectors in ipairs(result.vectors) do
        local values = of_vectors(item, result, vectors)
        add(item.name, vectors, #values, statistics.mean(values), statistics.sd(values))
      end
    end
  end)
end

-- Makes a cell's panel of puzzles; each number of vectors is a group of points.
local function puzzles_panel(data, result, group, name)
  local sets = lists.map(result.vectors, function(vectors)
    local shown = lists.map(result.puzzles.kept, function(puzzle)
      return vectors_of(result.puzzles, puzzle) == vectors and result.human[puzzle] and puzzle or nil
    end)
    return { x = lists.map(shown, function(puzzle) return result.human[puzzle] end),
      y = lists.map(shown, function(puzzle) return group.accuracy[puzzle] end) }
  end)
  return scatter.panel(data, name, sets, ("%s, ranks %s"):format(group.name, number("%.2f",
    group.similarity.spearman.value)), { x = SHARES, y = SHARES })
end

local function vectors_panel(data, result, item, name)
  local set = { x = result.vectors, y = {} }
  for i, vectors in ipairs(result.vectors) do
    set.y[i] = statistics.mean(of_vectors(item, result, vectors))
  end
  return scatter.panel(data, name, { set }, item.name, { style = "linespoints", x = { result.vectors[1] - 0.2,
    result.vectors[#result.vectors] + 0.2, 1 }, y = SHARES })
end

local function picture(result)
  local data = {}
  local of_puzzles = lists.map(result.groups, function(group, i)
    return puzzles_panel(data, result, group, ("puzzles%d"):format(i))
  end)
  local by_vectors = lists.map(everybody(result), function(item, i)
    return vectors_panel(data, result, item, ("vectors%d"):format(i))
  end)
  local rows = lists.append(panels.rows(of_puzzles, ACROSS, "Each puzzle: right: share of humans with the correct "
    .. "answer; up: share of seeds; lighter: more vectors"), panels.rows(by_vectors, ACROSS,
    "Accuracy by vectors"))
  return panels.script({ name = "human", title = "Humans and models, puzzle by puzzle",
    note = ("%d puzzles"):format(#result.puzzles.kept), panel = 190, settings = SETTINGS, data = data, rows = rows })
end

function M.run(study, options)
  local groups = lists.map(cell_groups.all(study, options.split), function(group)
    return #group.runs > 0 and group or nil
  end)
  local result = set_against(groups, options)
  return { human_csv(result), puzzles_csv(result, options), vectors_csv(result), { path = "human.gnuplot",
    text = picture(result) }, tables = { similarity_table(result, options), vectors_table(result) } }
end

return M
