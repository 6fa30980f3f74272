-- Position tables: their distance from a fixed one, and how alike they are (docs/analyses.md).
--
-- Input: a study with its cells read, and { project, folder, grid, reference, split }. Output: what analyze.lua says,
-- with the files tables.csv (a table per line), correlations.csv, similarity.csv, tables.gnuplot.

local groups = require("lab.study.analyse.groups")
local heat = require("lab.study.analyse.pictures.heat")
local lists = require("base.lists")
local panels = require("lab.study.analyse.pictures.panels")
local procrustes = require("lab.study.analyse.procrustes")
local scatter = require("lab.study.analyse.pictures.scatter")
local sheets = require("lab.study.analyse.sheets")
local statistics = require("lab.study.read.statistics")
local table_text = require("lab.study.report.tables.table_text")
local tables = require("lab.study.analyse.tables")

local M = {}

local number = sheets.number

local REFERENCE = { grid = "2-D sinusoid", line = "1-D sinusoid" }
local STEP = { start = "step 0", trained = "trained" }
local MEASURE = { norm = "norm", distance = "distance", unit = "distance at unit norm" }
local ACROSS = 6 -- panels of a row of the picture

local function distances_table(result, options)
  local heads = { "cell", "seeds", "accuracy" }
  for _, step in ipairs(tables.STEPS) do
    for _, measure in ipairs(tables.MEASURES) do
      heads[#heads + 1] = ("%s, %s"):format(MEASURE[measure], STEP[step])
    end
  end
  local rows = lists.map(result.groups, function(group)
    local row = { group.name, ("%d"):format(#group.records), number("%.2f", statistics.mean(group.scores)) }
    for _, step in ipairs(tables.STEPS) do
      for _, measure in ipairs(tables.MEASURES) do
        row[#row + 1] = sheets.mean_and_sd(measure == "unit" and "%.4f" or "%.2f", (tables.values(group, step,
          measure)))
      end
    end
    return row
  end)
  return sheets.table({ name = "tables", title = ("Orthogonal Procrustes distance of position tables from the %s")
    :format(REFERENCE[options.reference]), about = ("min |A Q - B| over orthogonal Q, of the first %d positions; means "
    .. "over blocks, then mean ± sd (n - 1) over seeds; accuracy in percent, split %s"):format(options.rows,
    options.split), heads = heads, rows = rows, notes = result.notes })
end

local function correlations_table(list)
  local means, heads = lists.map(list, function(item) return not item.block and item or nil end), { "over", "points" }
  for _, measure in ipairs(tables.MEASURES) do
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
    about = "of learned tables; the accuracy is that of the trained model, also beside step 0", heads = heads,
    rows = rows })
end

-- Pearson's of all runs, by step and measure.
local function of_all(list)
  local found = {}
  for _, item in ipairs(list) do
    if item.over == "all runs" and not item.block then
      found[item.step .. item.measure] = item.pearson
    end
  end
  return found
end

-- What one must know before one reads the correlations as a finding.
local function warning_of(found)
  local text = found.startdistance and ("Before any training the distance correlates with the later accuracy at %.2f, "
    .. "and the norm alone at %s: the distance follows the norm, which the initial values set. What training added "
    .. "must show at unit norm (%s at step 0, %s trained), or within a cell over seeds."):format(found.startdistance,
    number("%.2f", found.startnorm), number("%.2f", found.startunit), number("%.2f", found.trainedunit))
  return table_text.wrap(text or "There are no checkpoints of step 0 to compare with.", sheets.WIDTH) .. "\n"
end

local function similarity_table(result, list, step)
  local function mean_of(a, b)
    local pair = lists.find(list, function(item)
      return item.step == step and (item.a == a and item.b == b or item.a == b and item.b == a)
    end)
    return number("%.4f", pair and pair.mean)
  end
  return sheets.table({ name = "similarity", title = ("Cosine of the tables themselves, %s"):format(STEP[step]),
    about = "of flattened tables, mean over blocks, then over all pairs of seeds; on the diagonal, of different seeds",
    heads = lists.join({ "cell" }, lists.names(result.groups)), rows = lists.map(result.groups, function(a)
      return lists.join({ a.name }, lists.map(result.groups, function(b) return mean_of(a, b) end))
    end) })
end

local function tables_csv(result)
  return sheets.csv("tables.csv", "cell,seed,learning_rate,step,block,norm,distance,unit_distance,unrotated,cosine,"
    .. "accuracy", function(add)
      for list, step, record, group in tables.each(result.groups) do
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

-- The first seed's table of the first block of each group, trained and turned towards the reference; or nil, a code and
-- a message.
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
  local rows = panels.rows(shown, ACROSS, "Trained tables (first seed, first block), turned towards the first panel: "
    .. "positions down, channels across")
  for _, step in ipairs(tables.STEPS) do
    local row = { label = ("Accuracy in percent against what stands above each panel, %s: points are runs")
      :format(STEP[step]) }
    for _, measure in ipairs(tables.MEASURES) do
      local points = lists.map(result.groups, function(group)
        local values, scores = tables.values(group, step, measure)
        return { name = group.name, x = values, y = scores }
      end)
      row[#row + 1] = scatter.panel(data, step .. measure, points, ("%s, r = %s"):format(MEASURE[measure],
        number("%.2f", correlations[step .. measure])))
    end
    rows[#rows + 1] = row
  end
  return panels.script({ name = "tables", title = ("Position tables and the %s"):format(REFERENCE[options.reference]),
    note = "colours of tables from minus to plus the panel's largest; points: cells in that order, from dark to light; "
      .. "r: Pearson's, of learned tables", panel = 190, settings = heat.SETTINGS, data = data, rows = rows })
end

function M.run(study, options)
  options.rows, options.across = options.grid.down * options.grid.across, options.grid.across
  local result, code, message = tables.of(groups.all(study, options.split), options)
  local rotated
  if result then
    rotated, code, message = rotate(result, options)
  end
  if not rotated then
    return nil, message, code
  end
  local correlations, similarities = tables.correlations(result), tables.similarities(result)
  local pearson = of_all(correlations)
  return { tables_csv(result), correlations_csv(correlations), similarity_csv(similarities), { path = "tables.gnuplot",
    text = picture(result, rotated, pearson, options) }, tables = lists.append({ distances_table(result, options),
    correlations_table(correlations), warning_of(pearson) }, lists.map(tables.STEPS, function(step)
      return similarity_table(result, similarities, step)
    end)) }
end

return M
