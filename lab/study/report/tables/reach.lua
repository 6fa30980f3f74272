-- A table of a report: up to which length each cell's models generalise, and how many of its seeds do.
--
-- Input: a study with the results of its cells (cells.lua). Output: a table as in score_tables.lua: rows are cells; nil
-- if no run at a chosen learning rate was evaluated at several lengths. The reach of a run is the greatest evaluated
-- length whose result meets the study's criterion (metrics.lua): the results at all greater lengths miss it; results at
-- smaller lengths may miss it, too.

local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local score_tables = require("lab.study.report.tables.score_tables")
local statistics = require("lab.study.read.statistics")

local M = {}

local AXES = { length = true, digits = true } -- axes of evaluations that are lengths

-- Returns the results of a run by length as { length, value, high }, ascending, in the unit of the metric. high: the
-- upper end of the 95% interval of an exact match; nil for other metrics.
local function list_points(run, metric)
  local factor, points = metrics.by_name[metric].factor, {}
  for _, evaluation in ipairs(AXES[run.axis] and runs.get_curve(run) or {}) do
    local highs = metric == "exact_match" and evaluation.exact_match_high or {}
    for i, length in ipairs(evaluation.lengths) do
      local value, high = tonumber((evaluation[metric] or {})[i]), tonumber(highs[i])
      points[#points + 1] = value and { length, factor * value, high and factor * high } or nil
    end
  end
  table.sort(points, function(a, b) return a[1] < b[1] end)
  return points
end

-- Returns the greatest length of the points whose number at `index` meets the criterion; 0 if none does.
local function find_max_length(points, index, criterion)
  return lists.max(points, function(point)
    return metrics.generalises(point[index] or point[2], criterion) and point[1] or 0
  end)
end

-- Returns { reach, bound, first, last }; nil for a run that was evaluated at fewer than two lengths. bound: the reach
-- that the run would have if each result were at the upper end of its interval; first, last: the least and the greatest
-- evaluated length.
function M.compute(run, criterion)
  local points = run.state == "evaluated" and list_points(run, criterion.metric) or {}
  return #points > 1 and { reach = find_max_length(points, 2, criterion), bound = find_max_length(points, 3, criterion),
    first = points[1][1], last = points[#points][1] } or nil
end

-- Returns a length as text. result: from M.compute.
local function format_length(length, result)
  return length == 0 and ("under %d"):format(result.first) or length >= result.last
    and ("%d or more"):format(result.last)
    or ("%d"):format(length)
end

-- Returns the share of seeds that generalise as text: "2 of 3 (21% to 94%)", with its 95% interval.
local function format_share(chosen_runs)
  local judged_runs = lists.filter(chosen_runs, function(run) return run.generalises ~= nil end)
  local count = lists.count(judged_runs, function(run) return run.generalises end)
  if #judged_runs == 0 then
    return entries.MISSING
  end
  local low, high = statistics.compute_wilson(count / #judged_runs, #judged_runs)
  return ("%d of %d (%.0f%% to %.0f%%)"):format(count, #judged_runs, 100 * low, 100 * high)
end

local function make_row(study, cell)
  local list = runs.get_chosen_runs(cell)
  local measurements = lists.map(list, function(run) return M.compute(run, study.scored.generalises) end)
  local title = score_tables.format_key(study, cell)
  if not measurements[1] then
    return { title, entries.MISSING, entries.MISSING, entries.MISSING, entries.MISSING, cell = cell, is_missing = true }
  end
  table.sort(measurements, function(a, b) return a.reach < b.reach end)
  local median_result, max_result = measurements[(#measurements + 1) // 2], measurements[#measurements]
  local bound = lists.max(measurements, function(result) return result.bound end)
  local range = lists.drop_repeats({ format_length(measurements[1].reach, measurements[1]),
    format_length(max_result.reach, max_result) })
  return { title, format_length(median_result.reach, median_result), table.concat(range, " to "),
    format_length(bound, max_result),
    format_share(list), cell = cell }
end

function M.make_cells_table(study)
  local criterion = study.scored.generalises
  local is_measured = lists.find(lists.collect(study.cells, runs.get_chosen_runs), function(run)
    return M.compute(run, criterion) ~= nil
  end)
  if not is_measured then
    return nil
  end
  local caption = ("a seed's reach is the greatest evaluated length at which it has %s; at smaller lengths it may miss "
    .. "this criterion; median: for an even number of seeds, the lower one of the middle two; at most: "
    .. "the largest reach if every exact match were at the upper end of its 95%% interval over examples; generalise: "
    .. "seeds whose score meets the criterion, with the 95%% Wilson interval"):format(
    metrics.format_criterion(criterion))
  return entries.tabulate({ name = "reach",
    title = "Reach: the length up to which seeds at the chosen learning rate generalise",
    caption = captions.join(caption, captions.name_rates(study)),
    heads = { "cell", "median", "least to most", "at most", "generalise" },
    rows = lists.map(study.cells, function(cell) return make_row(study, cell) end) })
end

return M
