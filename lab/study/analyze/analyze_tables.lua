-- Position tables: their distance from a fixed table, and their similarity (docs/analyses.md).
--
-- Input: a study with its cells read, and { project, folder, grid, reference, split }. Output: as in analyze.lua, with
-- the files tables.csv (a table per line), correlations.csv, similarity.csv, tables.gnuplot.

local correlation = require("lab.study.analyze.mathematics.correlation")
local cell_groups = require("lab.study.analyze.cell_groups")
local heat = require("lab.study.analyze.pictures.heat")
local lfs = require("lfs")
local lists = require("base.lists")
local panels = require("lab.study.analyze.pictures.panels")
local position_tables = require("lab.study.analyze.position_tables")
local procrustes = require("lab.study.analyze.procrustes")
local scatter = require("lab.study.analyze.pictures.scatter")
local sheets = require("lab.study.analyze.sheets")
local statistics = require("lab.study.read.statistics")
local stop = require("lab.stop")
local table_text = require("lab.study.report.tables.table_text")

local M = {}

local must, number = stop.must, sheets.number

local STEPS = { "start", "trained" }
local MEASURES = { "norm", "distance", "unit" }
local COLUMNS = lists.flat(STEPS, function(step)
  return lists.map(MEASURES, function(measure) return { step = step, measure = measure } end)
end)

local FILES = { start = "checkpoint-0.safetensors", trained = "checkpoint.safetensors" }

-- Returns the tables of a run at both steps. Untrained tables are read at the last step only.
local function record_of(run, accuracy, options)
  local record, spec = { run = run, accuracy = accuracy }, run.facts.spec
  for _, step in ipairs(STEPS) do
    local path = ("%s/%s"):format(run.dir, FILES[position_tables.are_learned(spec) and step or "trained"])
    if step == "trained" or lfs.attributes(path, "mode") == "file" then
      local list = position_tables.of(path, spec, options.rows, options.across)
      record[step] = #list > 0 and list or nil
    end
  end
  return record
end

-- Reads the runs of the groups; groups without tables are left out.
local function read(groups, options, notes)
  local list = {}
  for _, group in ipairs(groups) do
    group.records, group.learned = {}, false
    local without = 0
    for i, run in ipairs(group.runs) do
      local record = record_of(run, group.scores[i], options)
      if record.trained then
        group.records[#group.records + 1] = record
        group.learned = position_tables.are_learned(run.facts.spec)
        without = without + (record.start and 0 or 1)
      end
    end
    list[#list + 1] = #group.records > 0 and group or nil
    if #group.records == 0 and #group.runs > 0 then
      notes[#notes + 1] = ("%s: has no position table"):format(group.name)
    elseif without > 0 then
      notes[#notes + 1] = ("%s: %d of %d runs have no checkpoint of step 0; train.checkpoint.keep = { 0 } keeps one")
        :format(group.name, without, #group.records)
    end
  end
  return list
end

-- Iterates over the lists of tables: (list, step, record, group).
local function each(groups)
  return coroutine.wrap(function()
    for group, record in lists.nested(groups, "records") do
      for _, step in ipairs(STEPS) do
        if record[step] then
          coroutine.yield(record[step], step, record, group)
        end
      end
    end
  end)
end

-- Returns all tables in one list, and their width, which must be equal.
local function flat(groups)
  local list = {}
  for tables, _, record in each(groups) do
    for _, one in ipairs(tables) do
      list[#list + 1] = one
      if one.columns ~= list[1].columns then
        stop.with(1, ("%s: its tables have %d columns; expected %d as in other runs"):format(record.run.dir,
          one.columns, list[1].columns))
      end
    end
  end
  return list, list[1].columns
end

-- Computes the means of the measures over the blocks.
local function average(groups)
  for tables in each(groups) do
    tables.mean = {}
    for _, measure in ipairs(MEASURES) do
      tables.mean[measure] = statistics.mean(lists.map(tables, function(one) return one.measures[measure] end))
    end
  end
end

-- Returns { groups, reference, width, notes }. Sets in each group `learned`,
-- whether training changes its tables, and `records`, a list of { run, accuracy, start, trained }: start (nil without a
-- checkpoint of step 0) and trained are lists of tables (position_tables.lua). Each table has `measures`
-- (procrustes.lua); each list has `mean`, the means of the measures over the blocks.
local function measured(groups, options)
  local notes = {}
  local list = read(groups, options, notes)
  must(1, list[1], "no run with a score has a position table\n  expected: additive encodings, such as learned")
  local tables, width = flat(list)
  must(1, width % 4 == 0, ("the tables have %d columns; expected a multiple of 4, for the sinusoids of a grid"):format(
    width))
  local reference = options.reference == "line" and position_tables.line(options.rows, width)
    or position_tables.grid(options.rows, options.across, width)
  local results = procrustes.measure(options.project, options.folder, { rows = options.rows, columns = width },
    reference, lists.map(tables, function(one) return one.values end))
  for i, one in ipairs(tables) do
    one.measures = results[i]
  end
  average(list)
  return { groups = list, reference = reference, width = width, notes = notes }
end

-- Returns a group's values of a measure at a step, and its accuracies, by run; of a block, or as means over all blocks.
local function values_of(group, step, measure, block)
  local values, scores = {}, {}
  for _, record in ipairs(group.records) do
    local of = record[step] or {}
    local value = (not block and of.mean or of[block] and of[block].measures or {})[measure]
    if value then
      values[#values + 1], scores[#scores + 1] = value, record.accuracy
    end
  end
  return values, scores
end

local function correlate(over, at, values, scores)
  return { over = over, step = at.step, block = at.block, measure = at.measure, count = #values,
    pearson = correlation.pearson(values, scores), spearman = correlation.spearman(values, scores) }
end

-- Adds the correlations for at = { step, measure, block }.
local function add_correlations(list, groups, at)
  local all, all_scores, means, mean_scores, within = {}, {}, {}, {}, {}
  for _, group in ipairs(groups) do
    local values, scores = values_of(group, at.step, at.measure, at.block)
    if group.learned and #values > 0 then
      lists.append(all, values)
      lists.append(all_scores, scores)
      means[#means + 1], mean_scores[#mean_scores + 1] = statistics.mean(values), statistics.mean(scores)
    end
    if group.learned and #values_of(group, at.step, "norm", at.block) > 0 then -- a table of zeros lacks some measures
      within[#within + 1] = correlate(group.name, at, values, scores)
    end
  end
  list[#list + 1] = correlate("all runs", at, all, all_scores)
  list[#list + 1] = correlate("means of cells", at, means, mean_scores)
  lists.append(list, within)
end

-- Returns correlations of measures with accuracy over learned tables: over all runs, over the means of groups, and over
-- the seeds within each group; a list of { over, step, block, measure, count, pearson, spearman }, where block is nil,
-- at first, for the mean over all blocks.
local function correlations_of(result)
  local list, blocks = {}, 0 -- blocks: the largest number of tables of a run
  for tables in each(result.groups) do
    blocks = math.max(blocks, #tables)
  end
  for block = 0, blocks > 1 and blocks or 0 do
    for _, column in ipairs(COLUMNS) do
      add_correlations(list, result.groups, lists.merged(column, { block = block > 0 and block or nil }))
    end
  end
  return list
end

-- Returns the mean over blocks of the cosine between two runs' tables; a single table is compared with all blocks.
local function similarity(a, b)
  local values = {}
  for i = 1, math.max(#a, #b) do
    local one, other = a[#a == 1 and 1 or i], b[#b == 1 and 1 or i]
    local both = one and other and one.measures.norm * other.measures.norm or 0
    values[#values + 1] = both > 0 and correlation.dot(one.values, other.values) / both or nil
  end
  return statistics.mean(values)
end

-- Returns the cosines between tables of each pair of groups, over all pairs of their seeds; within a group, over pairs
-- of different seeds: a list of { a, b, step, count, mean, sd }.
local function similarities_of(result)
  local list = {}
  for _, step in ipairs(STEPS) do
    cell_groups.each_pair(result.groups, function(a, b)
      local values = cell_groups.over_pairs(a, b, function(one, other)
        return one[step] and other[step] and similarity(one[step], other[step])
      end)
      list[#list + 1] = { a = a, b = b, step = step, count = #values, mean = statistics.mean(values),
        sd = statistics.sd(values) }
    end)
  end
  return list
end

-- ---- output ----

local REFERENCE = { grid = "2-D sinusoid", line = "1-D sinusoid" }
local STEP = { start = "step 0", trained = "trained" }
local MEASURE = { norm = "norm", distance = "distance", unit = "distance at unit norm" }
local ACROSS = 6 -- panels in a row of the picture

local function distances_table(result, options)
  local heads = lists.join({ "cell", "seeds", "accuracy" }, lists.map(COLUMNS, function(column)
    return ("%s, %s"):format(MEASURE[column.measure], STEP[column.step])
  end))
  local rows = lists.map(result.groups, function(group)
    local row = { group.name, ("%d"):format(#group.records), number("%.2f", statistics.mean(group.scores)) }
    return lists.append(row, lists.map(COLUMNS, function(column)
      return sheets.mean_and_sd(column.measure == "unit" and "%.4f" or "%.2f", (values_of(group, column.step,
        column.measure)))
    end))
  end)
  return sheets.table({ name = "tables", title = ("Orthogonal Procrustes distance of position tables from the %s")
    :format(REFERENCE[options.reference]), about = ("min |A Q - B| over orthogonal Q, of the first %d positions; means "
    .. "over blocks, then mean ± sd (n - 1) over seeds; accuracy in percent, split %s"):format(options.rows,
    options.split), heads = heads, rows = rows, notes = result.notes })
end

local function correlations_table(list)
  local means, heads = lists.map(list, function(item) return not item.block and item or nil end), { "over", "points" }
  for _, measure in ipairs(MEASURES) do
    lists.append(heads, { MEASURE[measure], "(ranks)" })
  end
  local rows = lists.map(lists.group(means, function(item) return item.over .. "\n" .. item.step end), function(items)
    local row = { ("%s, %s"):format(items[1].over, STEP[items[1].step]), ("%d"):format(items[1].count) }
    for _, item in ipairs(items) do
      lists.append(row, { number("%.3f", item.pearson), number("%.3f", item.spearman) })
    end
    return row
  end)
  return sheets.table({ name = "correlations", title = "Correlation with accuracy: Pearson, and Spearman (ranks)",
    about = "of learned tables; the accuracy is that of the trained model, also in rows of step 0", heads = heads,
    rows = rows })
end

-- Returns Pearson's correlations over all runs, by step and measure.
local function of_all(list)
  local found = {}
  for _, item in ipairs(list) do
    if item.over == "all runs" and not item.block then
      found[item.step .. item.measure] = item.pearson
    end
  end
  return found
end

-- Returns a warning about the correlations: distances depend on the initial norm.
local function warning_of(found)
  local text = found.startdistance and ("Before training, the distance correlates with the final accuracy at %.2f, "
    .. "and the norm alone at %s: the distance depends on the norm, which the initial values set. An effect "
    .. "of training must appear at unit norm (%s at step 0, %s trained), or over the seeds of a cell."):format(found
    .startdistance, number("%.2f", found.startnorm), number("%.2f", found.startunit), number("%.2f", found.trainedunit))
  return table_text.wrap(text or "No run has a checkpoint of step 0 for comparison.", sheets.WIDTH) .. "\n"
end

local function similarity_table(result, list, step)
  local function mean_of(a, b)
    local pair = lists.find(list, function(item)
      return item.step == step and (item.a == a and item.b == b or item.a == b and item.b == a)
    end)
    return number("%.4f", pair and pair.mean)
  end
  return sheets.table({ name = "similarity", title = ("Cosine between tables, %s"):format(STEP[step]),
    about = "of flattened tables, mean over blocks, then over all pairs of seeds; on the diagonal of different seeds",
    heads = lists.join({ "cell" }, lists.names(result.groups)), rows = lists.map(result.groups, function(a)
      return lists.join({ a.name }, lists.map(result.groups, function(b) return mean_of(a, b) end))
    end) })
end

local function tables_csv(result)
  return sheets.csv("tables.csv", "cell,seed,learning_rate,step,block,norm,distance,unit_distance,unrotated,cosine,"
    .. "accuracy", function(add)
      for list, step, record, group in each(result.groups) do
        for _, one in ipairs(list) do
          local m = one.measures
          add(group.name, record.run.seed, group.rate, step, one.block, m.norm, m.distance, m.unit, m.plain, m.cosine,
            record.accuracy)
        end
      end
    end)
end

local function correlations_csv(list)
  return sheets.csv("correlations.csv", "over,step,block,measure,points,pearson,spearman", function(add)
    for _, item in ipairs(list) do
      add(item.over, item.step, item.block or "mean", item.measure, item.count, item.pearson, item.spearman)
    end
  end)
end

local function similarity_csv(list)
  return sheets.csv("similarity.csv", "a,b,step,pairs,mean,sd", function(add)
    for _, item in ipairs(list) do
      add(item.a.name, item.b.name, item.step, item.count, item.mean, item.sd)
    end
  end)
end

-- Returns the trained table of each group's first seed and first block, rotated towards the reference.
local function rotate(result, options)
  return procrustes.measure(options.project, options.folder, { rows = options.rows, columns = result.width },
    result.reference, lists.map(result.groups, function(group) return group.records[1].trained[1].values end), true)
end

local function picture(result, rotated, correlations, options)
  local data = {}
  local shown = { heat.panel(data, "reference", result.reference, options.rows, REFERENCE[options.reference]) }
  lists.append(shown, lists.map(result.groups, function(group, i)
    return heat.panel(data, ("rotated%d"):format(i), rotated[i].rotated, options.rows, group.name)
  end))
  local rows = panels.rows(shown, ACROSS, "Trained tables (first seed, first block), rotated towards the first panel: "
    .. "positions down, channels across")
  for _, step in ipairs(STEPS) do
    local row = { label = ("Accuracy in percent against the measure above each panel, %s: points are runs")
      :format(STEP[step]) }
    for _, measure in ipairs(MEASURES) do
      local points = lists.map(result.groups, function(group)
        local values, scores = values_of(group, step, measure)
        return { name = group.name, x = values, y = scores }
      end)
      row[#row + 1] = scatter.panel(data, step .. measure, points, ("%s, r = %s"):format(MEASURE[measure],
        number("%.2f", correlations[step .. measure])))
    end
    rows[#rows + 1] = row
  end
  return panels.script({ name = "tables", title = ("Position tables and the %s"):format(REFERENCE[options.reference]),
    note = "colours of tables: from minus to plus the panel's largest; points: cells in the same order, dark to light; "
      .. "r: Pearson's, of learned tables", panel = 190, settings = heat.SETTINGS, data = data, rows = rows })
end

function M.run(study, options)
  options.rows, options.across = options.grid.down * options.grid.across, options.grid.across
  local result = measured(cell_groups.all(study, options.split), options)
  local rotated = rotate(result, options)
  local correlations, similarities = correlations_of(result), similarities_of(result)
  local pearson = of_all(correlations)
  return { tables_csv(result), correlations_csv(correlations), similarity_csv(similarities), { path = "tables.gnuplot",
    text = picture(result, rotated, pearson, options) }, tables = lists.append({ distances_table(result, options),
    correlations_table(correlations), warning_of(pearson) }, lists.map(STEPS, function(step)
      return similarity_table(result, similarities, step)
    end)) }
end

return M
