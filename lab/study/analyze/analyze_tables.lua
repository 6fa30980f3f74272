-- Position tables: their distance from a fixed table, and their similarity (docs/analyses.md).
--
-- Input: a study with the results of its cells (cells.lua), and { project, folder, grid, reference, split }:
--   grid        { rows, columns }: the numbers of rows and of columns of the grid
--   reference   "grid" or "line"
-- Output: as in analyze.lua, with the files tables.csv (a table per line), correlations.csv, similarity.csv.

local correlation = require("lab.study.analyze.mathematics.correlation")
local cell_groups = require("lab.study.analyze.cell_groups")
local heat = require("lab.study.report.figures.heat")
local lfs = require("lfs")
local lists = require("base.lists")
local panels = require("lab.study.report.figures.panels")
local position_tables = require("lab.study.analyze.position_tables")
local procrustes = require("lab.study.analyze.procrustes")
local scatter = require("lab.study.analyze.pictures.scatter")
local sheets = require("lab.study.analyze.sheets")
local statistics = require("lab.study.read.statistics")
local stop = require("lab.stop")
local table_text = require("lab.study.report.tables.table_text")

local M = {}

local INPUT = 1 -- exit code
local must, format_number = stop.must, sheets.format_number

local STEPS = { "start", "trained" }
local MEASURES = { "norm", "distance", "unit" } -- measures of procrustes.lua
local COLUMNS = lists.collect(STEPS, function(step)
  return lists.map(MEASURES, function(measure) return { step = step, measure = measure } end)
end)

local FILES = { start = "checkpoint-0.safetensors", trained = "checkpoint.safetensors" }

-- A series: the list of one run's tables (position_tables.lua) at one step, with the fields group, run, accuracy (of
-- the trained run) and step. Returns the series of the i-th run of a group; nil without tables. Fixed tables are read
-- from the last checkpoint.
local function read_series(group, i, step, options)
  local run = group.runs[i]
  local spec = run.facts.spec
  local path = ("%s/%s"):format(run.dir, FILES[position_tables.are_learned(spec) and step or "trained"])
  local list = (step == "trained" or lfs.attributes(path, "mode") == "file")
    and position_tables.read(path, spec, options.rows, options.grid_columns) or {}
  return list[1] and lists.update(list, { group = group, run = run, accuracy = group.scores[i], step = step }) or nil
end

-- Reads the runs of the groups. Returns the groups with tables, and all series. Sets in each group `is_learned`,
-- whether training changes the group's tables, and `count`, the number of its runs with tables. Adds texts to notes.
local function read(groups, options, notes)
  local all_series = {}
  local groups_with_tables = lists.filter(groups, function(group)
    local missing_count = 0 -- checkpoints of step 0
    group.count = 0
    for i, run in ipairs(group.runs) do
      local series = lists.map(STEPS, function(step) return read_series(group, i, step, options) end)
      if #series > 0 and series[#series].step == "trained" then
        group.count, group.is_learned = group.count + 1, position_tables.are_learned(run.facts.spec)
        missing_count = missing_count + #STEPS - #series
        lists.append(all_series, series)
      end
    end
    if group.count == 0 and #group.runs > 0 then
      notes[#notes + 1] = ("%s: has no position table"):format(group.name)
    elseif missing_count > 0 then
      notes[#notes + 1] = ("%s: %d of %d runs have no checkpoint of step 0; train.checkpoint.keep = { 0 } keeps one")
        :format(group.name, missing_count, group.count)
    end
    return group.count > 0
  end)
  return groups_with_tables, all_series
end

-- Returns the distances of tables from the reference (procrustes.lua). with_rotated: whether to return the rotated
-- tables, too.
local function measure_distances(result, tables, options, with_rotated)
  return procrustes.measure(options.project, options.folder, { rows = options.rows, columns = result.width },
    result.reference, lists.map(tables, function(position_table) return position_table.values end), with_rotated)
end

-- Returns { groups, series, tables (of all series), reference, width (channels), notes }. Each table gets the distances
-- of procrustes.lua and `series`, its series; each series gets `mean`, the means of the measures over its tables.
local function measure_groups(groups, options)
  local result = { notes = {} }
  result.groups, result.series = read(groups, options, result.notes)
  must(INPUT, result.groups[1],
    "no run with a score has a position table\n  expected: additive encodings, such as learned")
  local tables = lists.collect(result.series, function(series)
    return lists.map(series, function(position_table) return lists.update(position_table, { series = series }) end)
  end)
  local width = tables[1].columns
  local mismatch = lists.find(tables, function(position_table) return position_table.columns ~= width end)
  must(INPUT, not mismatch, mismatch and ("%s: its tables have %d columns; expected %d as in other runs"):format(
    mismatch.series.run.dir, mismatch.columns, width))
  must(INPUT, width % 4 == 0,
    ("the tables have %d columns; expected a multiple of 4, for the sinusoids of a grid"):format(width))
  result.tables, result.width = tables, width
  result.reference = options.reference == "line" and position_tables.compute_line(options.rows, width)
    or position_tables.compute_grid(options.rows, options.grid_columns, width)
  for i, measures in ipairs(measure_distances(result, tables, options)) do
    lists.update(tables[i], measures)
  end
  for _, series in ipairs(result.series) do
    series.mean = {}
    for _, measure in ipairs(MEASURES) do
      series.mean[measure] = statistics.mean(lists.map(series,
        function(position_table) return position_table[measure] end))
    end
  end
  return result
end

local function filter_series(result, group, step)
  return lists.filter(result.series, function(series) return series.group == group and series.step == step end)
end

-- Returns two lists { x, y } over the runs of a group that have the measure: x, the measure's values at a step; y, the
-- accuracies. block: the index of a table in its series, or "mean", the mean over the series.
local function list_values(result, group, step, measure, block)
  local measured_series = lists.filter(filter_series(result, group, step), function(series)
    return series[block] and series[block][measure]
  end)
  return { x = lists.map(measured_series, function(series) return series[block][measure] end),
    y = lists.map(measured_series, function(series) return series.accuracy end) }
end

-- Returns the correlations for a choice { step, measure, block }, a part of the list that correlate_all returns.
local function correlate(result, choice)
  local learned_groups = lists.filter(result.groups, function(group) return group.is_learned end)
  local samples = lists.map(learned_groups, function(group)
    return list_values(result, group, choice.step, choice.measure, choice.block)
  end)
  local over_runs, over_means = correlation.correlate_samples(lists.filter(samples,
    function(sample) return #sample.x > 0 end))
  local list = { lists.update(over_runs, { over = "all runs" }), lists.update(over_means, { over = "means of cells" }) }
  for i, group in ipairs(learned_groups) do
    -- Ask for norms, not for the chosen measure: a table of zeros has a norm, but not every other measure.
    if #list_values(result, group, choice.step, "norm", choice.block).x > 0 then
      list[#list + 1] = lists.update(correlation.correlate(samples[i].x, samples[i].y), { over = group.name })
    end
  end
  return lists.map(list, function(entry) return lists.update(entry, choice) end)
end

-- Returns correlations of measures with accuracy for learned tables, over all runs, over the means of groups, and over
-- the seeds within each group: a list of { over, step, block, measure, points, pearson, spearman }.
local function correlate_all(result)
  local block_count = lists.max(result.series, function(series) return #series end)
  local list = {}
  for block = 0, block_count > 1 and block_count or 0 do -- 0: the mean over the blocks
    lists.append(list, lists.collect(COLUMNS, function(column)
      return correlate(result, lists.merge(column, { block = block > 0 and block or "mean" }))
    end))
  end
  return list
end

-- Returns the mean over blocks of the cosine between two series' tables; a single table is compared with all blocks.
local function compute_similarity(a, b)
  local values = {}
  for i = 1, math.max(#a, #b) do
    local table_a, table_b = a[#a == 1 and 1 or i], b[#b == 1 and 1 or i]
    local norms = table_a and table_b and table_a.norm * table_b.norm or 0
    values[#values + 1] = norms > 0 and correlation.dot(table_a.values, table_b.values) / norms or nil
  end
  return statistics.mean(values)
end

-- Returns a list of { a, b, step, values } for each pair of groups: values, the cosines between tables
-- (compute_similarity) for all pairs of different runs of these groups.
local function compare_groups(result)
  return lists.collect(STEPS, function(step)
    return lists.map(cell_groups.list_pairs(result.groups), function(pair)
      local series_a, series_b, values = filter_series(result, pair.a, step), filter_series(result, pair.b, step), {}
      for i, series in ipairs(series_a) do
        for j = pair.a == pair.b and i + 1 or 1, #series_b do
          values[#values + 1] = compute_similarity(series, series_b[j])
        end
      end
      return lists.merge(pair, { step = step, values = values })
    end)
  end)
end

local REFERENCE_TITLES = { grid = "2-D sinusoid", line = "1-D sinusoid" }
local MEASURE_TITLES = { norm = "norm", distance = "distance", unit = "distance at unit norm" }
local PANELS_PER_ROW = 6 -- panels in a row of the picture

local function tabulate_distances(result, options)
  local heads = lists.join({ "cell", "seeds", "accuracy" }, lists.map(COLUMNS, function(column)
    return ("%s, %s"):format(MEASURE_TITLES[column.measure], sheets.STEP_TITLES[column.step])
  end))
  local rows = lists.map(result.groups, function(group)
    local row = { group.name, ("%d"):format(group.count), format_number("%.2f", statistics.mean(group.scores)) }
    return lists.append(row, lists.map(COLUMNS, function(column)
      return sheets.format_mean(column.measure == "unit" and "%.4f" or "%.2f", list_values(result, group,
        column.step, column.measure, "mean").x)
    end))
  end)
  return sheets.tabulate({ name = "tables", title = ("Orthogonal Procrustes distance of position tables from the %s")
    :format(REFERENCE_TITLES[options.reference]), caption = ("min |A Q - B| over orthogonal Q, of the first %d "
    .. "positions; means over blocks, then mean ± sd (n - 1) over seeds; accuracy in percent, split %s"):format(
    options.rows, options.split), heads = heads, rows = rows, notes = result.notes })
end

local function tabulate_correlations(list)
  local means, heads = lists.filter(list, function(item) return item.block == "mean" end), { "over", "points" }
  for _, measure in ipairs(MEASURES) do
    lists.append(heads, { MEASURE_TITLES[measure], "(ranks)" })
  end
  local rows = lists.map(lists.group(means, function(item) return item.over .. "\n" .. item.step end), function(items)
    local row = { ("%s, %s"):format(items[1].over, sheets.STEP_TITLES[items[1].step]), ("%d"):format(items[1].points) }
    for _, item in ipairs(items) do
      lists.append(row, { format_number("%.3f", item.pearson), format_number("%.3f", item.spearman) })
    end
    return row
  end)
  return sheets.tabulate({ name = "correlations", title = "Correlation with accuracy: Pearson, and Spearman (ranks)",
    caption = "of learned tables; accuracies are of trained models, also in rows of step 0", heads = heads,
    rows = rows })
end

-- Returns Pearson's correlations over all runs, for the means over the blocks, by the joined names of step and measure.
local function find_pearson(list)
  local pearson = {}
  for _, item in ipairs(list) do
    if item.over == "all runs" and item.block == "mean" then
      pearson[item.step .. item.measure] = item.pearson
    end
  end
  return pearson
end

-- Returns a warning about the correlations: distances depend on the initial norm.
local function warn_of_norm(pearson)
  local text = pearson.startdistance and ("Before training, the distance correlates with the final accuracy at %.2f, "
    .. "and the norm alone at %s: the distance depends on the norm, which the initial values set. Only a "
    .. "correlation at unit norm (%s at step 0, %s trained), or over the seeds of a cell, can show an effect of "
    .. "training."):format(pearson.startdistance, format_number("%.2f", pearson.startnorm),
      format_number("%.2f", pearson.startunit), format_number("%.2f", pearson.trainedunit))
  return table_text.wrap(text or "No run has a checkpoint of step 0 for comparison.", sheets.WIDTH) .. "\n"
end

-- Makes the table of mean cosines between groups at a step. list: from compare_groups.
local function tabulate_similarity(result, list, step)
  local function format_mean(a, b)
    local pair = lists.find(list, function(item)
      return item.step == step and (item.a == a and item.b == b or item.a == b and item.b == a)
    end)
    return format_number("%.4f", statistics.mean(pair.values))
  end
  return sheets.tabulate_pairs({ name = "similarity-" .. step,
    title = "Cosine between tables, " .. sheets.STEP_TITLES[step],
    caption = "of flattened tables, mean over blocks, then over all pairs of seeds (on the diagonal: pairs of "
    .. "different seeds)" },
    result.groups, function(group) return group.name end, format_mean)
end

local function draw_points(result, step, measure, pearson)
  return scatter.draw(lists.map(result.groups, function(group)
    return list_values(result, group, step, measure, "mean")
  end), ("%s, r = %s"):format(MEASURE_TITLES[measure], format_number("%.2f", pearson)))
end

-- Makes the picture: position tables, and accuracies against measures. correlations: from find_pearson.
local function make_picture(result, correlations, options)
  -- The trained table of each group's first seed and first block.
  local first_tables = lists.map(result.groups, function(group) return filter_series(result, group,
    "trained")[1][1] end)
  local table_panels = lists.map(measure_distances(result, first_tables, options, true), function(measures, i)
    return heat.draw(measures.rotated, options.rows, result.groups[i].name)
  end)
  table.insert(table_panels, 1, heat.draw(result.reference, options.rows, REFERENCE_TITLES[options.reference]))
  local rows = panels.arrange(table_panels, PANELS_PER_ROW,
    "Trained tables (first seed, first block), rotated towards the first panel: positions down, channels across")
  lists.append(rows, lists.map(STEPS, function(step)
    return lists.append({ label = ("Accuracy in percent against the measure above each panel, %s: points are runs")
      :format(sheets.STEP_TITLES[step]) }, lists.map(MEASURES, function(measure)
        return draw_points(result, step, measure, correlations[step .. measure])
      end))
  end))
  return { title = ("Position tables and the %s"):format(REFERENCE_TITLES[options.reference]),
    note = "colours of tables: from -m to m, the panel's largest absolute value; points: a shade for each cell, "
      .. "dark to light in the order of the tables; r: Pearson's, of learned tables", panel_height = 190, rows = rows }
end

function M.run(study, options)
  options.rows, options.grid_columns = options.grid.rows * options.grid.columns, options.grid.columns
  local result = measure_groups(cell_groups.list_all(study, options.split), options)
  local correlations, similarities = correlate_all(result), compare_groups(result)
  local pearson = find_pearson(correlations)
  return { sheets.to_csv("tables.csv", "cell=series.group.name seed=series.run.seed "
    .. "learning_rate=series.group.rate step=series.step block norm distance unit_distance=unit unrotated=plain cosine "
    .. "accuracy=series.accuracy", result.tables),
    sheets.to_csv("correlations.csv", "over step block measure points pearson spearman", correlations),
    sheets.to_csv("similarity.csv", "a=a.name b=b.name step pairs=count:values mean=mean:values sd=sd:values",
      similarities),
    picture = make_picture(result, pearson, options), tables = lists.append({ tabulate_distances(result, options),
      tabulate_correlations(correlations), warn_of_norm(pearson) }, lists.map(STEPS, function(step)
        return tabulate_similarity(result, similarities, step)
      end)) }
end

return M
