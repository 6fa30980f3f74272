-- Accuracies of models compared with accuracies of humans, puzzle by puzzle (docs/analyses.md).
--
-- Input: a study with the results of its cells (cells.lua), whose runs were evaluated by puzzle, and { split, human,
-- column, trials, without, copies, resamples, seed }. Output: as in analyze.lua, with human.csv (a cell per line),
-- puzzles.csv, vectors.csv. Puzzles are numbered from 1, their ids from 0. Every `copies` consecutive puzzles are
-- copies of one puzzle, their base. The vectors of a puzzle are the rows and columns that have to be combined to solve
-- it (docs/analyses.md).

local correlation = require("lab.study.analyze.mathematics.correlation")
local cell_groups = require("lab.study.analyze.cell_groups")
local inference = require("lab.study.analyze.mathematics.inference")
local lists = require("base.lists")
local panels = require("lab.study.report.figures.panels")
local human_data = require("lab.study.read.human_data")
local scatter = require("lab.study.analyze.pictures.scatter")
local sheets = require("lab.study.analyze.sheets")
local statistics = require("lab.study.read.statistics")
local wording = require("base.wording")

local M = {}

local INPUT = 1 -- exit code
local format_number, must = sheets.format_number, require("lab.stop").must

local PEOPLE, PERFECT = "people", "always right"
local PANELS_PER_ROW = 5 -- panels in a row of the picture
local SHARES = { -0.05, 1.05, 0.25 } -- an axis of shares: both ends, and the step of its tics

local MEASURES = { "cosine", "spearman", "composite" }

-- Returns two lists by puzzle: the shares of correct answers, and the vectors. The first list is nil if the run was not
-- evaluated by puzzle.
local function list_by_puzzle(run, split)
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

-- Returns the puzzles of all runs, { count, vectors (by puzzle), run (the folder of the first) }; ends the analysis if
-- runs differ in the number of puzzles. Sets group.by_run: for each run, the shares by puzzle.
local function find_puzzles(groups, split)
  local puzzles
  for _, group in ipairs(groups) do
    group.by_run = {}
    for i, run in ipairs(group.runs) do
      local accuracy, vectors = list_by_puzzle(run, split)
      must(INPUT, accuracy, ("%s: split %s was not evaluated puzzle by puzzle\n  expected: eval.by = { puzzle = true }")
        :format(run.dir, split))
      puzzles = puzzles or { count = #accuracy, vectors = vectors, run = run.dir }
      must(INPUT, #accuracy == puzzles.count, ("%s: %d puzzles; expected %d, the number of puzzles of %s"):format(
        run.dir, #accuracy, puzzles.count, puzzles.run))
      group.by_run[i] = accuracy
    end
  end
  return (must(INPUT, puzzles, "no run has a score on " .. split))
end

-- Returns for each base the list of its puzzles, as numbers. Puzzles whose ids are in options.without are left out.
local function find_bases(puzzles, options)
  local is_excluded, included = lists.to_set(options.without or {}), {}
  for id = 0, puzzles.count - 1 do
    included[#included + 1] = not is_excluded[id] and id + 1 or nil
  end
  local unknown_id = lists.find(options.without or {}, function(id) return id >= puzzles.count end)
  must(INPUT, not unknown_id, ("--without %s: there is no such puzzle\n  expected: ids from 0 to %d"):format(unknown_id,
    puzzles.count - 1))
  return lists.group(included, function(puzzle) return (puzzle - 1) // options.copies end)
end

-- Returns the puzzles of all these bases.
local function list_puzzles(bases)
  return lists.collect(bases, function(base) return base end)
end

-- Returns the MEASURES of the similarity of two lists of shares by puzzle, over the `puzzles` that both lists have.
local function compare(a, b, puzzles)
  local common_puzzles = lists.filter(puzzles, function(puzzle) return a[puzzle] and b[puzzle] end)
  local x = lists.map(common_puzzles, function(puzzle) return a[puzzle] end)
  local y = lists.map(common_puzzles, function(puzzle) return b[puzzle] end)
  local cosine, spearman = correlation.cosine(x, y), correlation.spearman(x, y)
  return { cosine = cosine, spearman = spearman, composite = cosine and spearman and (cosine + spearman) / 2 }
end

-- Returns a similarity, which has for each measure a table { value, low, high }. value: the measure in `point`, or, if
-- `point` is nil, the mean over the samples; low, high: the interval of the samples. point and samples are results of
-- compare.
local function summarise_similarity(samples, point)
  local result = {}
  for _, measure in ipairs(MEASURES) do
    local values = lists.map(samples, function(sample) return sample[measure] end)
    local entry = { value = statistics.mean(values) }
    if point then
      entry.value = point[measure]
    end
    if entry.value and #values > 0 then
      entry.low, entry.high = inference.compute_interval(values)
    end
    result[measure] = entry
  end
  return result
end

-- Returns the similarity of a model's accuracies to human accuracies. The intervals are from bases that are resampled
-- with replacement.
local function compute_similarity(human, accuracy, bases, options)
  return summarise_similarity(inference.resample(bases, function(list)
    return compare(human, accuracy, list_puzzles(list))
  end, options.resamples, inference.make_random(options.seed)), compare(human, accuracy, list_puzzles(bases)))
end

-- Returns the similarity between random halves of the participants: means and quantiles over the random splits.
local function compare_halves(participants, puzzles, options)
  local random, list = inference.make_random(options.seed), {}
  for split = 1, options.resamples do
    local order = lists.join(participants, {})
    for i = #order, 2, -1 do
      local j = random(i)
      order[i], order[j] = order[j], order[i]
    end
    local middle = #order // 2
    list[split] = compare(human_data.compute_means(table.move(order, 1, middle, 1, {}), puzzles.count),
      human_data.compute_means(table.move(order, middle + 1, #order, 1, {}), puzzles.count), puzzles.included)
  end
  return summarise_similarity(list)
end

-- Summarises the accuracies of people or of a cell by the number of vectors. shares: for each participant or seed, the
-- shares by puzzle; result: of compare_all. Returns
--   name         the name of the people or of the cell
--   count        the number of participants or seeds
--   by_vectors   for each number of vectors { name, vectors (the number), values }; values: for each participant or
--                seed, the accuracy on puzzles with this number of vectors
local function summarise_by_vectors(name, shares, result)
  return { name = name, count = #shares, by_vectors = lists.map(result.vectors, function(puzzles)
    return { name = name, vectors = puzzles.key, values = lists.map(shares, function(accuracy)
      return statistics.mean(lists.map(puzzles, function(puzzle) return accuracy[puzzle] end))
    end) }
  end) }
end

-- Returns the comparison:
--   puzzles    from find_puzzles, with included, the numbers of the included puzzles
--   human      by puzzle, the share of people who answered correctly, or nil
--   groups     of cell_groups.lua, with accuracy, the mean shares over seeds by puzzle, and similarity
--   compared   a list of { name, count, similarity }; count: the number of seeds or participants, or nil; similarity:
--              from summarise_similarity. The items are random halves of the participants, if there are trials;
--              `perfect`; and each cell
--   perfect    the item in `compared` of an imagined model that is always right
--   base_count the number of bases
--   vectors    lists of included puzzles with equal numbers of vectors, by this number; if runs were not evaluated by
--              vectors, one list of all included puzzles, under 0
--   people_and_cells   the results of summarise_by_vectors for people and for each cell
local function compare_all(groups, options)
  local puzzles = find_puzzles(groups, options.split)
  local participants = options.trials and human_data.read_trials(options.trials, puzzles)
  local human = options.human and human_data.read_accuracy(options.human, options.column, puzzles)
    or human_data.compute_means(participants, puzzles.count)
  local bases, perfect_accuracy = find_bases(puzzles, options), {}
  puzzles.included = list_puzzles(bases)
  for puzzle = 1, puzzles.count do
    perfect_accuracy[puzzle] = 1.0
  end
  local comparisons = lists.map(groups, function(group)
    local runs_as_people = lists.map(group.by_run, function(accuracy) return { share = accuracy } end)
    group.accuracy = human_data.compute_means(runs_as_people, puzzles.count)
    group.similarity = compute_similarity(human, group.accuracy, bases, options)
    return { name = group.name, count = #group.by_run, similarity = group.similarity }
  end)
  local perfect = { name = PERFECT, similarity = compute_similarity(human, perfect_accuracy, bases, options) }
  table.insert(comparisons, 1, perfect)
  if participants then
    table.insert(comparisons, 1, { name = PEOPLE .. ", half against half", count = #participants,
      similarity = compare_halves(participants, puzzles, options) })
  end
  local vectors = lists.group(puzzles.included, function(puzzle) return puzzles.vectors[puzzle] or 0 end)
  table.sort(vectors, function(a, b) return a.key < b.key end)
  local result = { puzzles = puzzles, human = human, groups = groups, compared = comparisons, perfect = perfect,
    base_count = #bases, vectors = vectors }
  local shares = participants and lists.map(participants, function(participant) return participant.share end)
    or { human }
  result.people_and_cells = lists.join({ summarise_by_vectors(PEOPLE, shares, result) },
    lists.map(groups, function(group) return summarise_by_vectors(group.name, group.by_run, result) end))
  return result
end

local function tabulate_similarity(result, options)
  local rows = lists.map(result.compared, function(item)
    return lists.join({ item.name, format_number("%d", item.count) }, lists.collect(MEASURES, function(measure)
      local entry = item.similarity[measure]
      return { format_number("%.4f", entry.value), format_number("%.3f to %.3f", entry.low, entry.high) }
    end))
  end)
  return sheets.tabulate({ name = "human", title = ("Accuracy of humans and models by puzzle: %d puzzles of %s"):format(
    #result.puzzles.included, wording.count(result.base_count, "base")), caption = ("split %s, means over seeds; "
    .. "composite: mean of cosine and rank correlation (Spearman's, equal numbers share their ranks); intervals: 95%% "
    .. "of %d resamples of bases; copies of one base are resampled together"):format(options.split, options.resamples),
    heads = { "cell", "seeds", "cosine", "interval", "Spearman", "interval", "composite", "interval" }, rows = rows,
    notes = { ("The cosine says little: it is %s for a model that is always right, and similar for all models that "
    .. "have learned the task. Compare the rank correlations."):format(format_number("%.4f",
      result.perfect.similarity.cosine.value)) } })
end

local function tabulate_vectors(result)
  return sheets.tabulate({ name = "vectors", title = "Accuracy by vectors",
    caption = "mean ± sd (n - 1) over participants or seeds; for humans without trials, only the mean",
    heads = lists.join({ "", "humans or seeds" }, lists.map(result.vectors, function(puzzles)
      return puzzles.key > 0 and wording.count(puzzles.key, "vector") or "all"
    end)), rows = lists.map(result.people_and_cells, function(item)
      return lists.join({ item.name, ("%d"):format(item.count) }, lists.map(item.by_vectors, function(entry)
        return sheets.format_mean("%.3f", entry.values)
      end))
    end) })
end

local function make_puzzles_csv(result, options)
  return sheets.to_csv("puzzles.csv", "cell=group.name puzzle base vectors human accuracy", lists.collect(result.groups,
    function(group)
      return lists.map(result.puzzles.included, function(puzzle)
        return { group = group, puzzle = puzzle, base = (puzzle - 1) // options.copies + 1,
          vectors = result.puzzles.vectors[puzzle], human = result.human[puzzle], accuracy = group.accuracy[puzzle] }
      end)
    end))
end

local function draw_puzzles(result, group)
  return scatter.draw(lists.map(result.vectors, function(puzzles)
    local rated_puzzles = lists.filter(puzzles, function(puzzle) return result.human[puzzle] end)
    return { x = lists.map(rated_puzzles, function(puzzle) return result.human[puzzle] end),
      y = lists.map(rated_puzzles, function(puzzle) return group.accuracy[puzzle] end) }
  end), ("%s, rank correlation %s"):format(group.name, format_number("%.2f", group.similarity.spearman.value)),
    { x = SHARES, y = SHARES })
end

local function draw_vectors(item)
  local set = { x = lists.map(item.by_vectors, function(entry) return entry.vectors end),
    y = lists.map(item.by_vectors, function(entry) return statistics.mean(entry.values) end) }
  return scatter.draw({ set }, item.name, { style = "linespoints", x = { set.x[1] - 0.2, set.x[#set.x] + 0.2, 1 },
    y = SHARES })
end

local function make_picture(result)
  local by_puzzle = lists.map(result.groups, function(group) return draw_puzzles(result, group) end)
  local by_vectors = lists.map(result.people_and_cells, draw_vectors)
  return { title = "Humans and models, puzzle by puzzle", note = ("%d puzzles"):format(#result.puzzles.included),
    panel_height = 190, settings = scatter.SETTINGS, rows = lists.append(panels.arrange(by_puzzle, PANELS_PER_ROW,
      "A point per puzzle; x: share of humans with the right answer; y: share of seeds; lighter points: more vectors"),
      panels.arrange(by_vectors, PANELS_PER_ROW, "Accuracy by vectors")) }
end

local CSV = "cell=name seeds=count" .. table.concat(lists.map(MEASURES, function(measure)
  return (" %s=similarity.%s.value %s_low=similarity.%s.low %s_high=similarity.%s.high"):gsub("%%s", measure)
end))

function M.run(study, options)
  local groups = lists.filter(cell_groups.list_all(study, options.split), function(group)
    return #group.runs > 0
  end)
  local result = compare_all(groups, options)
  return { sheets.to_csv("human.csv", CSV, result.compared), make_puzzles_csv(result, options),
    sheets.to_csv("vectors.csv", "who=name vectors count=count:values mean=mean:values sd=sd:values",
      lists.collect(result.people_and_cells, function(item) return item.by_vectors end)),
    picture = make_picture(result), tables = { tabulate_similarity(result, options), tabulate_vectors(result) } }
end

return M
