-- A table of a report: the steps and the time of training until an evaluation during training reaches a threshold.
--
-- Input: a study with the results of its cells (cells.lua), an item { rows, threshold (in percent), split }. Output: a
-- table as in score_tables.lua, with a row for each value of an axis. Its columns, for runs at the chosen learning
-- rate:
--   steps                        the step of the first evaluation at or above the threshold
--   hours, minutes or seconds    the time of training until this step
--   runs                         the number of runs that reach the threshold
-- Steps and times are means and standard deviations over the runs that reach the threshold; blank without such a run.

local captions = require("lab.study.report.tables.captions")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local runs = require("lab.study.read.runs")
local statistics = require("lab.study.read.statistics")
local score_tables = require("lab.study.report.tables.score_tables")

local M = {}

-- Returns the seconds of training at a step, interpolated; nil for a step after the last mark. clock: a list of marks
-- { step, seconds } (runs.read_clock).
function M.interpolate_seconds(clock, step)
  local previous_mark = { 0, 0 }
  for _, mark in ipairs(clock) do
    if mark[1] >= step then
      local share = mark[1] > previous_mark[1] and (step - previous_mark[1]) / (mark[1] - previous_mark[1]) or 1
      return previous_mark[2] + share * (mark[2] - previous_mark[2])
    end
    previous_mark = mark
  end
  return nil
end

-- Returns the x of the first point { x, percent } at or above a threshold; nil if there is none.
function M.find_first(points, threshold)
  local first_point = lists.find(points, function(point) return point[2] >= threshold end)
  return first_point and first_point[1]
end

-- Returns points { step, score } of a run's evaluations during training on a set, which is "test" for sampled tasks.
function M.list_points(run, split, metric)
  return lists.map(run.during, function(point)
    local mean = point.sets and point.sets[split] or not point.sets and split == "test" and point.mean or nil
    return mean and mean[metric] and { point.step, metrics.by_name[metric].factor * mean[metric] } or nil
  end)
end

-- Returns the results { runs, steps, seconds } of a cell: the number of runs with evaluations during training, and
-- lists of the steps and seconds at which runs reached the threshold.
local function measure_cell(study, cell, split, threshold)
  local results = { runs = 0, steps = {}, seconds = {} }
  for _, run in ipairs(runs.get_chosen_runs(cell)) do
    local points = M.list_points(run, split, study.scored.metric)
    local step = M.find_first(points, threshold)
    results.runs = results.runs + (#points > 0 and 1 or 0)
    results.steps[#results.steps + 1] = step
    results.seconds[#results.seconds + 1] = step and M.interpolate_seconds(runs.read_clock(run), step)
  end
  return results
end

-- Makes an entry with the mean and the standard deviation of a list, divided by `scale`.
local function make_entry(list, form, scale, cell)
  local mean, sd = statistics.mean(list), statistics.sd(list)
  return { value = mean, number = cell and cell.number,
    texts = { mean and entries.format_number(form, mean / scale, sd and sd / scale) or "" } }
end

local function make_row(row, results, unit_seconds)
  local note = entries.join_cautions(row.cell, "mean", {})
  local count = ("%d of %d%s"):format(#results.steps, results.runs, note and "*" or "")
  return { title = row.label, cells = { make_entry(results.steps, "%.0f", 1, row.cell),
    make_entry(results.seconds, "%.2f", unit_seconds, row.cell),
    { texts = { count }, note = note, number = row.cell and row.cell.number } } }
end

function M.make_table(study, item)
  local split, axis_values = item.split or study.scored.select or "test",
    score_tables.list_along(study, item, item.rows)
  local measurements = lists.map(axis_values, function(row) return measure_cell(study, row.cell, split,
    item.threshold) end)
  local unit, unit_seconds = entries.choose_time_unit(lists.collect(measurements,
    function(results) return results.seconds end))
  local columns = entries.make_columns({ "steps", unit, "runs" })
  local rows = lists.map(axis_values, function(row, i) return make_row(row, measurements[i], unit_seconds) end)
  local heading = ("Steps and %s of training to %g%% %s on the set %s, mean and standard deviation (n - 1) over the "
    .. "runs that reach it, at the chosen learning rate"):format(unit, item.threshold,
    entries.name_metric(study), split)
  return score_tables.complete(item, heading, captions.name_rates(study), nil, columns, rows)
end

return M
