-- Models against people, puzzle by puzzle (docs/analyses.md).
--
-- Input: a study with its cells read, and the options of human.lua. Output: what analyze.lua says, with the files
-- human.csv (a cell per line), puzzles.csv, vectors.csv, human.gnuplot.

local groups_module = require("lab.study.analyse.groups")
local human = require("lab.study.analyse.human")
local lists = require("base.lists")
local panels = require("lab.study.analyse.pictures.panels")
local scatter = require("lab.study.analyse.pictures.scatter")
local sheets = require("lab.study.analyse.sheets")
local statistics = require("lab.study.read.statistics")
local wording = require("base.wording")

local M = {}

local number = sheets.number

local PEOPLE, PERFECT = "people", "always right"
local ACROSS = 5 -- panels of a row of the picture
local SHARES = { -0.05, 1.05, 0.25 } -- an axis of them
local SETTINGS = { "unset key", "unset colorbox", "set border 3 lc rgb '#444444'",
  "set tics nomirror scale 0.4 font ',8' textcolor rgb '#444444'", "set xtics offset 0,0.4", "set ytics offset 0.6,0" }

-- { name, count, likeness }: people among themselves, a model that is always right, the cells.
local function compared(result)
  local list = {}
  if result.halves then
    list[1] = { name = PEOPLE .. ", half against half", count = #result.participants, likeness = result.halves }
  end
  list[#list + 1] = { name = PERFECT, likeness = result.perfect }
  return lists.append(list, lists.map(result.groups, function(group)
    return { name = group.name, count = #group.by_run, likeness = group.likeness }
  end))
end

local function likeness_table(result, options)
  local rows = lists.map(compared(result), function(item)
    local row = { item.name, number("%d", item.count) }
    for _, measure in ipairs(human.MEASURES) do
      local of = item.likeness[measure]
      lists.append(row, { number("%.4f", of.value), number("%.3f to %.3f", of.low, of.high) })
    end
    return row
  end)
  return sheets.table({ name = "human", title = ("Accuracy by puzzle, people and models: %d puzzles of %s"):format(
    #result.puzzles.kept, wording.count(result.bases, "base")), about = ("split %s, means over seeds; composite: mean "
    .. "of cosine and rank correlation (Spearman's, equal numbers share their ranks); intervals: 95%% of %d draws of "
    .. "bases, copies together"):format(options.split, options.resamples), heads = { "cell", "seeds", "cosine",
    "interval", "Spearman", "interval", "composite", "interval" }, rows = rows, notes = { ("The cosine says little: it "
    .. "is %s for a model that is always right, and close to that for all that have learned the task. Look at the "
    .. "ranks."):format(number("%.4f", result.perfect.cosine.value)) } })
end

-- Accuracies of a number of vectors: over participants, where there are any, or over seeds.
local function of_vectors(item, result, vectors)
  return lists.map(item.lists, function(accuracy) return human.of_vectors(accuracy, result.puzzles, vectors) end)
end

-- { name, lists }: people and the cells, a list by puzzle for each participant or seed.
local function everybody(result)
  local people = result.participants and lists.map(result.participants, function(one) return one.share end)
  return lists.append({ { name = PEOPLE, lists = people and people[1] and people or { result.human } } }, lists.map(
    result.groups, function(group) return { name = group.name, lists = group.by_run } end))
end

local function vectors_table(result)
  return sheets.table({ name = "vectors", title = "Accuracy by vectors", about = "mean ± sd (n - 1) over participants "
    .. "and seeds; of people without their trials, the mean alone", heads = lists.join({ "", "people or seeds" },
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
        local l = item.likeness
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

-- A cell's puzzles, the vectors as groups of points.
local function puzzles_panel(data, result, group, name)
  local sets = lists.map(result.vectors, function(vectors)
    local shown = lists.map(result.puzzles.kept, function(puzzle)
      return human.vectors(result.puzzles, puzzle) == vectors and result.human[puzzle] and puzzle or nil
    end)
    return { x = lists.map(shown, function(puzzle) return result.human[puzzle] end),
      y = lists.map(shown, function(puzzle) return group.accuracy[puzzle] end) }
  end)
  return scatter.panel(data, name, sets, ("%s, ranks %s"):format(group.name, number("%.2f",
    group.likeness.spearman.value)), { x = SHARES, y = SHARES })
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
  local by_puzzle = lists.map(result.groups, function(group, i)
    return puzzles_panel(data, result, group, ("puzzles%d"):format(i))
  end)
  local by_vectors = lists.map(everybody(result), function(item, i)
    return vectors_panel(data, result, item, ("vectors%d"):format(i))
  end)
  local rows = lists.append(panels.rows(by_puzzle, ACROSS, "Each puzzle: share of people that got it right, to the "
    .. "right; of seeds, upwards; the more vectors the lighter"), panels.rows(by_vectors, ACROSS,
    "Accuracy by vectors"))
  return panels.script({ name = "human", title = "People and models, puzzle by puzzle",
    note = ("%d puzzles"):format(#result.puzzles.kept), panel = 190, settings = SETTINGS, data = data, rows = rows })
end

function M.run(study, options)
  local groups = lists.map(groups_module.all(study, options.split), function(group)
    return #group.runs > 0 and group or nil
  end)
  local result, message = human.of(groups, options)
  if not result then
    return nil, message
  end
  return { human_csv(result), puzzles_csv(result, options), vectors_csv(result), { path = "human.gnuplot",
    text = picture(result) }, tables = { likeness_table(result, options), vectors_table(result) } }
end

return M
