-- Heat maps of a report: scores over two axes, of the study's grid or of the evaluations.
--
-- Input: a study whose cells have been read; an item { rows, columns, panels (or nil) }; the name of the item's files.
-- Output: nil if no run has scores along both axes; else a picture { title, caption, script, file } for the report, and
-- a list of at most one table (score_tables.lua). file: a CSV file.
-- All scores are at the chosen learning rate: medians over seeds if both axes are of the grid, else means.
-- Training lengths, and conditions on two axes within the range of training, have framed squares.

local canonical = require("base.canonical")
local captions = require("lab.study.report.tables.captions")
local csv = require("lab.study.report.tables.csv")
local entries = require("lab.study.report.tables.table_entries")
local heat = require("lab.study.report.figures.heat")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local panels = require("lab.study.report.figures.panels")
local runs = require("lab.study.read.runs")
local scales = require("lab.study.report.figures.scales")
local score_tables = require("lab.study.report.tables.score_tables")
local statistics = require("lab.study.read.statistics")

local M = {}

local SQUARE = 34 -- pixels of the side of a square
local MIN_SIDE, MAX_SIDE = 90, 330 -- limits of a panel's side in pixels
local MAX_ROW_WIDTH = 600 -- pixels of a row of panels
local SINGLE_WIDTH = 330 -- minimum pixels of the width of a single panel, for the texts above it
local MAX_COLUMNS = 16 -- limit for a table, and for numbers in the squares
local NAN = 0 / 0

-- Returns a run's results along one or two axes of evaluations, a list of
--   by           { [axis] = number }
--   value        the score
--   is_trained   whether this is a training length, or a condition on two axes within the range of training
-- names: the names of these axes.
local function list_conditions(run, study, names)
  local metric, factor = study.scored.metric, metrics.by_name[study.scored.metric].factor
  local function make(axis_values, value, is_trained)
    value = tonumber(value)
    return value and { by = axis_values, value = factor * value, is_trained = is_trained } or nil
  end
  if #names > 1 then
    local evaluation = runs.get_evaluation(run, study.scored.split)
    return lists.map(evaluation and evaluation.conditions or {}, function(condition)
      local axis_values = condition.by
      local has_both_axes = axis_values[names[1]] and axis_values[names[2]]
        and #canonical.sort_keys(axis_values) == 2
      return has_both_axes and make(axis_values, condition[metric], not condition.beyond) or nil
    end)
  end
  local in_distribution = run.parts and run.parts.in_distribution
  local trained_lengths = lists.to_set(in_distribution and in_distribution.lengths or {})
  return run.axis == names[1] and lists.collect(runs.get_curve(run, study.scored.split), function(evaluation)
    return lists.map(evaluation.lengths, function(n, i)
      return make({ [run.axis] = n }, (evaluation[metric] or {})[i], evaluation.split == "in_distribution"
        or trained_lengths[n])
    end)
  end) or {}
end

-- Returns the points { row, column, value, is_trained } of a cell.
local function list_points(study, item, cell)
  local names = lists.filter({ item.rows, item.columns }, function(name)
    return not score_tables.find_axis(study, name)
  end)
  local function make(condition)
    return { row = condition.by[item.rows] or cell.key[item.rows],
      column = condition.by[item.columns] or cell.key[item.columns],
      value = condition.value, is_trained = condition.is_trained }
  end
  if #names == 0 then
    local value = entries.get_value(cell, "median").value
    return value and { make({ by = {}, value = value }) } or {}
  end
  return lists.collect(runs.get_chosen_runs(cell), function(run)
    return lists.map(list_conditions(run, study, names), make)
  end)
end

-- Returns the values along an axis that the points have, and the names of these values. Values of the grid are in the
-- order of the grid, other values ascend. key: "row" or "column".
local function list_along(study, name, points, key)
  local present_values = lists.to_set(lists.map(points, function(point) return point[key] end))
  local values = score_tables.find_axis(study, name)
    and lists.filter(score_tables.list_values(study, name), function(value) return present_values[value] end)
    or canonical.sort_keys(present_values)
  return values, lists.map(values, function(value)
    return study.labels and study.labels[value] or ("%s"):format(math.type(value) == "float" and ("%g"):format(value)
      or value)
  end)
end

-- Returns the map of a panel, { title, values, is_trained, counts }. Three fields are row-major lists:
--   values       the mean value of each square, NaN for a gap
--   is_trained   whether any point of the square has is_trained
--   counts       the number of points of the square
local function make_map(title, points, rows, columns)
  local points_by_row = {}
  for _, point in ipairs(points) do
    points_by_row[point.row] = points_by_row[point.row] or {}
    points_by_row[point.row][point.column] = points_by_row[point.row][point.column] or {}
    table.insert(points_by_row[point.row][point.column], point)
  end
  local map = { title = title, values = {}, is_trained = {}, counts = {} }
  for _, row in ipairs(rows) do
    for _, column in ipairs(columns) do
      local cell_points = points_by_row[row] and points_by_row[row][column] or {}
      local index = #map.values + 1
      map.values[index] = statistics.mean(lists.map(cell_points, function(point) return point.value end)) or NAN
      map.is_trained[index] = lists.find(cell_points, function(point) return point.is_trained end) ~= nil
      map.counts[index] = #cell_points
    end
  end
  return map
end

local function choose_range(maps, metric)
  if metric.unit == "percent" then
    return { 0, 100 }
  end
  local low, high = scales.find_range(lists.map(maps, function(map)
    return lists.filter(map.values, function(value) return value == value end)
  end))
  return { low, high > low and high or low + 1 }
end

local function measure_side(count, min_side)
  return math.max(min_side, math.min(SQUARE * count, MAX_SIDE))
end

-- Returns the script of a picture. names: { rows, columns }, the names of the values on both axes. Fields of words:
--   name, title   of the picture
--   range         the numbers with the first and the last colour
--   unit, form    the unit of the scores, and their format
--   has_frames    whether some squares are framed
local function make_script(maps, names, item, words)
  local rows, columns = #names.rows, #names.columns
  local drawn_panels = lists.map(maps, function(map)
    local panel = heat.draw(map.values, rows, map.title, words.range, names)
    if columns <= MAX_COLUMNS then
      heat.add_numbers(panel, map.values, rows, words.range, words.form)
    end
    heat.frame(panel, rows, columns, map.is_trained)
    return panel
  end)
  table.insert(drawn_panels[#drawn_panels].lines,
    "set colorbox user origin graph 1.04,graph 0 size graph 0.03,graph 1\n"
    .. "set cbtics font ',8'")
  local panel_width = measure_side(columns, #drawn_panels == 1 and SINGLE_WIDTH or 2 * MIN_SIDE)
  local bottom, left = heat.measure_names(names.columns), heat.measure_names(names.rows)
  return panels.make_script({ name = words.name, title = words.title, panel_height = measure_side(rows, MIN_SIDE),
    panel_width = panel_width, left = left, column_gap = left,
    bottom = bottom, row_gap = 60 + bottom,
    rows = panels.arrange(drawn_panels, math.max(1, MAX_ROW_WIDTH // (panel_width + left)), ""),
    note = ("rows: %s; columns: %s; in %s%s"):format(item.rows, item.columns, words.unit, words.has_frames
      and "; framed: training" or "") })
end

local function make_csv(study, item, maps, rows, columns)
  local heads = { item.panels or "panel", item.rows, item.columns, "metric", "value", "runs", "training" }
  local lines = lists.collect(maps, function(map)
    return lists.map(map.values, function(value, i)
      return map.counts[i] > 0 and table.concat(lists.map({ map.name or "", rows[(i - 1) // #columns + 1],
        columns[(i - 1) % #columns + 1], study.scored.metric, ("%.9g"):format(value), map.counts[i],
        map.is_trained[i] and 1 or 0 }, csv.format_field), ",") .. "\n" or nil
    end)
  end)
  return table.concat(lists.map(heads, csv.format_field), ",") .. "\n" .. table.concat(lines)
end

-- Returns the table of all maps; nil if it has too many columns.
local function tabulate(item, maps, names, title, caption, form)
  if #names.columns > MAX_COLUMNS then
    return nil
  end
  local rows = lists.collect(maps, function(map)
    return lists.map(names.rows, function(name, r)
      return lists.join({ #maps > 1 and map.title .. ", " .. name or name }, lists.map(names.columns, function(_, c)
        local value = map.values[(r - 1) * #names.columns + c]
        return value == value and form:format(value) or ""
      end))
    end)
  end)
  return entries.tabulate({ title = title, caption = caption, heads = lists.join({ item.rows }, names.columns),
    rows = rows })
end

-- Makes the picture and the table of an item of the kind "heat".
function M.make(study, item, name)
  local metric = metrics.by_name[study.scored.metric]
  local panel_entries = lists.map(score_tables.list_panels(study, item), function(value)
    local shown_cells = lists.filter(study.cells, function(cell) return not value or cell.key[item.panels] == value end)
    return { name = value, title = value and score_tables.label(study, item.panels, value) or "",
      points = lists.collect(shown_cells, function(cell) return list_points(study, item, cell) end) }
  end)
  panel_entries = lists.filter(panel_entries, function(entry) return #entry.points > 0 end)
  local points = lists.collect(panel_entries, function(entry) return entry.points end)
  if #points == 0 then
    return nil
  end
  local rows, row_names = list_along(study, item.rows, points, "row")
  local columns, column_names = list_along(study, item.columns, points, "column")
  local maps = lists.map(panel_entries, function(entry)
    return lists.update(make_map(entry.title, entry.points, rows, columns), { name = entry.name })
  end)
  local names = { rows = row_names, columns = column_names }
  local has_frames = lists.find(points, function(point) return point.is_trained end) ~= nil
  local title = score_tables.make_title(item, ("%s in %s by %s and %s"):format(metric.title, metric.unit, item.rows,
    item.columns))
  local caption = captions.join("at the chosen learning rate of each cell: the median over seeds if both axes are of "
    .. "the study, else the mean",
    has_frames and "framed: training lengths, or conditions within the range of training",
    captions.describe_decoding(study), captions.name_rates(study))
  local contents = tabulate(item, maps, names, title, caption, metric.form)
  return { title = title, caption = caption, script = make_script(maps, names, item, { name = name, title = title,
    range = choose_range(maps, metric), unit = metric.unit, form = metric.unit == "percent" and "%.0f" or "%.2g",
    has_frames = has_frames }), file = { path = name .. ".csv", text = make_csv(study, item, maps, rows, columns) } },
    { contents }
end

return M
