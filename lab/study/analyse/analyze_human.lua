-- Models against people, puzzle by puzzle (docs/analyses.md).
--
-- Input: a study with its cells read, and the options of human.lua with `say`. Output: the files human.csv (a cell per
-- line), puzzles.csv, vectors.csv, human.gnuplot; or nil and a message. Third, what is damaged and was left out, or
-- nil.

local groups_module = require("lab.study.analyse.groups")
local human = require("lab.study.analyse.human")
local panels = require("lab.study.analyse.pictures.panels")
local scatter = require("lab.study.analyse.pictures.scatter")
local sheets = require("lab.study.analyse.sheets")
local statistics = require("lab.study.read.statistics")
local wording = require("base.wording")

local M = {}

local line, number, texts = sheets.line, sheets.number, sheets.texts

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
  for _, group in ipairs(result.groups) do
    list[#list + 1] = { name = group.name, count = #group.by_run, likeness = group.likeness }
  end
  return list
end

local function likeness_table(result, options)
  local rows = {}
  for i, item in ipairs(compared(result)) do
    local row = { item.count and ("%d"):format(item.count) or sheets.MISSING }
    for _, measure in ipairs(human.MEASURES) do
      local of = item.likeness[measure]
      row[#row + 1], row[#row + 2] = number("%.4f", of.value), number("%.3f to %.3f", of.low, of.high)
    end
    rows[i] = { title = item.name, cells = texts(table.unpack(row)) }
  end
  return { name = "human", title = ("Accuracy by puzzle, people and models: %d puzzles of %s"):format(
    #result.puzzles.kept, wording.count(result.bases, "base")), about = ("split %s, means over seeds; composite: mean "
    .. "of cosine and rank correlation (Spearman's, equal numbers share their ranks); intervals: 95%% of %d draws of "
    .. "bases, copies together"):format(options.split, options.resamples), corner = "cell", subs = { "" }, columns =
    sheets.columns("seeds", "cosine", "interval", "Spearman", "interval", "composite", "interval"), rows = rows,
    notes = { ("The cosine says little: it is %s for a model that is always right, and close to that for all that have "
    .. "learned the task. Look at the ranks."):format(number("%.4f", result.perfect.cosine.value)) } }
end

-- Means and deviations of a number of vectors: over participants, where there are any, or over seeds.
local function of_vectors(lists, result, vectors)
  local values = {}
  for i, accuracy in ipairs(lists) do
    values[i] = human.of_vectors(accuracy, result.puzzles, vectors)
  end
  return statistics.mean(values), statistics.sd(values), #values
end

-- { name, lists }: people and the cells, a list by puzzle for each participant or seed.
local function everybody(result)
  local of_people = { result.human }
  for i, one in ipairs(result.participants or {}) do
    of_people[i] = one.share
  end
  local list = { { name = PEOPLE, lists = of_people } }
  for i, group in ipairs(result.groups) do
    list[i + 1] = { name = group.name, lists = group.by_run }
  end
  return list
end

local function vectors_table(result)
  local rows, titles = {}, { "" }
  for i, item in ipairs(everybody(result)) do
    local row = { ("%d"):format(#item.lists) }
    for k, vectors in ipairs(result.vectors) do
      local mean, sd = of_vectors(item.lists, result, vectors)
      row[k + 1] = number("%.3f", mean) .. (sd and (" ± %.3f"):format(sd) or "")
      titles[k + 1] = vectors > 0 and wording.count(vectors, "vector") or "all"
    end
    rows[i] = { title = item.name, cells = texts(table.unpack(row)) }
  end
  titles[1] = "people or seeds"
  return { name = "vectors", title = "Accuracy by vectors", about = "mean ± sd (n - 1) over participants and seeds; of "
    .. "people without their trials, the mean alone", corner = "", subs = { "" }, columns =
    sheets.columns(table.unpack(titles)), rows = rows, notes = {} }
end

local function human_csv(result)
  local lines = { "cell,seeds,cosine,cosine_low,cosine_high,spearman,spearman_low,spearman_high,composite,"
    .. "composite_low,composite_high" }
  for _, item in ipairs(compared(result)) do
    local l = item.likeness
    lines[#lines + 1] = line(item.name, item.count, l.cosine.value, l.cosine.low, l.cosine.high, l.spearman.value,
      l.spearman.low, l.spearman.high, l.composite.value, l.composite.low, l.composite.high)
  end
  return table.concat(lines, "\n") .. "\n"
end

local function puzzles_csv(result, options)
  local lines = { "cell,puzzle,base,vectors,human,accuracy" }
  for _, group in ipairs(result.groups) do
    for _, puzzle in ipairs(result.puzzles.kept) do
      lines[#lines + 1] = line(group.name, puzzle, (puzzle - 1) // options.copies + 1, result.puzzles.vectors[puzzle],
        result.human[puzzle], group.accuracy[puzzle])
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function vectors_csv(result)
  local lines = { "who,vectors,count,mean,sd" }
  for _, item in ipairs(everybody(result)) do
    for _, vectors in ipairs(result.vectors) do
      local mean, sd, count = of_vectors(item.lists, result, vectors)
      lines[#lines + 1] = line(item.name, vectors, count, mean, sd)
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

-- A cell's puzzles, the vectors as groups of points.
local function puzzles_panel(data, result, group, name)
  local sets = {}
  for i, vectors in ipairs(result.vectors) do
    sets[i] = { x = {}, y = {} }
    for _, puzzle in ipairs(result.puzzles.kept) do
      if human.vectors(result.puzzles, puzzle) == vectors and result.human[puzzle] then
        table.insert(sets[i].x, result.human[puzzle])
        table.insert(sets[i].y, group.accuracy[puzzle])
      end
    end
  end
  return scatter.panel(data, name, sets, ("%s, ranks %s"):format(group.name, number("%.2f",
    group.likeness.spearman.value)), { x = SHARES, y = SHARES })
end

local function vectors_panel(data, result, item, name)
  local set = { x = {}, y = {} }
  for i, vectors in ipairs(result.vectors) do
    set.x[i], set.y[i] = vectors, (of_vectors(item.lists, result, vectors))
  end
  return scatter.panel(data, name, { set }, item.name, { style = "linespoints", x = { result.vectors[1] - 0.2,
    result.vectors[#result.vectors] + 0.2, 1 }, y = SHARES })
end

-- Panels in rows of ACROSS, the first with a label.
local function add_rows(rows, shown, label)
  for i, panel in ipairs(shown) do
    if (i - 1) % ACROSS == 0 then
      rows[#rows + 1] = { label = i == 1 and label or "" }
    end
    table.insert(rows[#rows], panel)
  end
end

local function picture(result)
  local data, rows, by_puzzle, by_vectors = {}, {}, {}, {}
  for i, group in ipairs(result.groups) do
    by_puzzle[i] = puzzles_panel(data, result, group, ("puzzles%d"):format(i))
  end
  for i, item in ipairs(everybody(result)) do
    by_vectors[i] = vectors_panel(data, result, item, ("vectors%d"):format(i))
  end
  add_rows(rows, by_puzzle, "Each puzzle: share of people that got it right, to the right; of seeds, upwards; the more "
    .. "vectors the lighter")
  add_rows(rows, by_vectors, "Accuracy by vectors")
  return panels.script({ name = "human", title = "People and models, puzzle by puzzle",
    note = ("%d puzzles"):format(#result.puzzles.kept), panel = 190, settings = SETTINGS, data = data, rows = rows })
end

function M.run(study, options)
  local damage, groups = sheets.damage(study), {}
  for _, group in ipairs(groups_module.all(study, options.split)) do
    groups[#groups + 1] = #group.runs > 0 and group or nil
  end
  local result, message = human.of(groups, options)
  if not result then
    return nil, damage and message .. "\n" .. damage or message
  end
  options.say(sheets.shown(likeness_table(result, options)))
  options.say(sheets.shown(vectors_table(result)))
  return {
    { path = "human.csv", text = human_csv(result) },
    { path = "puzzles.csv", text = puzzles_csv(result, options) },
    { path = "vectors.csv", text = vectors_csv(result) },
    { path = "human.gnuplot", text = picture(result) },
  }, nil, damage
end

return M
