-- Figures of a report, from a study's cells: scores by length, over training time and epochs, and along an axis.
--
-- Input: a study whose cells have been read; an item (items.lua).
-- Output: a figure { title, caption, panels, legend } for curves.lua; nil if nothing was measured. M.make_by_time also
-- returns a list with one table (score_tables.lua).

local captions = require("lab.study.report.tables.captions")
local colours = require("lab.study.report.figures.colours")
local curves = require("lab.study.report.figures.curves")
local entries = require("lab.study.report.tables.table_entries")
local lists = require("base.lists")
local metrics = require("lab.study.read.metrics")
local novelty_strip = require("lab.study.report.figures.novelty_strip")
local progress = require("lab.study.report.figures.progress")
local time_to_threshold = require("lab.study.report.tables.time_to_threshold")
local runs = require("lab.study.read.runs")
local scales = require("lab.study.report.figures.scales")
local seed_curves = require("lab.study.report.figures.seed_curves")
local statistics = require("lab.study.read.statistics")
local score_tables = require("lab.study.report.tables.score_tables")
local wording = require("base.wording")

local M = {}

local MIN_LOG_RATIO = 20 -- the smallest ratio of the longest to the shortest time for a logarithmic axis
M.BOLD = "Bold: mean over the seeds of a cell at its chosen learning rate; "
M.SEEDS = "faint: these seeds; bands: quartiles of the seeds, where there are three or more"
local SAMPLES_TEXT = "; the band of a single seed is the 95% Wilson interval of its exact match, over the examples of "
  .. "each length"

-- Returns points { length, number ... } from the evaluations that runs.get_curve(run, split) returns.
-- Further arguments: names of measures. The numbers are the values of these measures times `factor`. Lengths that lack
-- a measure have no point.
function M.list_points(run, split, factor, ...)
  local points, names = {}, { ... }
  for _, evaluation in ipairs(runs.get_curve(run, split)) do
    for i, length in ipairs(evaluation.lengths) do
      local numbers = lists.map(names, function(name)
        local value = evaluation[name] and tonumber(evaluation[name][i])
        return value and factor * value
      end)
      points[#points + 1] = #numbers == #names and { length, table.unpack(numbers) } or nil
    end
  end
  return seed_curves.sort(points)
end

-- Returns the confidence interval of a run's exact match as points { x, low, high }; nil if there is none.
local function make_sample_band(run, scored)
  local band = scored.metric == "exact_match"
    and M.list_points(run, scored.split, 100, "exact_match_low", "exact_match_high") or {}
  return #band > 0 and band or nil
end

-- Returns the levels (curves.lua) of a task's chance and baseline; none if their scores are unknown in this metric.
-- metric: nil for accuracy.
function M.make_levels(task, metric)
  if not task or not task.chance or not metrics.by_name[metric or "accuracy"].has_chance then
    return {}
  end
  local levels = { { 100 * task.chance, ("chance %.0f%%"):format(100 * task.chance) } }
  local baseline = task.baseline and 100 * task.baseline
  if baseline and baseline > levels[1][1] + 0.05 then
    local is_close = baseline - levels[1][1] < 8 -- percent; then one text is moved down and the other up
    levels[1][3] = is_close and -0.5 or 0
    levels[2] = { baseline, ("majority %.1f%%"):format(baseline), is_close and 0.5 or 0 }
  end
  return levels
end

-- Marks a run's training lengths in a panel: a vertical line at the longest length, and a shaded range. The range is
-- the intersection of the ranges of all runs in the panel.
local function add_training(panel, run)
  local lengths = run.axis == "length" and runs.get_lengths(run, "train") or {}
  if #lengths == 0 then
    return
  end
  local first, last = math.min(table.unpack(lengths)), math.max(table.unpack(lengths))
  local shade = panel.shade or { first, last }
  panel.shade = { math.max(shade[1], first), math.min(shade[2], last) }
  if not lists.find(panel.marks, function(mark) return mark[1] == last end) then
    table.insert(panel.marks, { last })
  end
end

-- Adds the curves of a cell to a panel of scores by length.
local function add_cell(panel, cell, title, style, scored)
  local chosen_runs = runs.get_chosen_runs(cell)
  local points_by_run = lists.map(chosen_runs, function(run)
    local points = M.list_points(run, scored.split, metrics.by_name[scored.metric].factor, scored.metric)
    panel.xlabel = runs.format_axis(run)
    add_training(panel, run)
    panel.x[2] = math.max(panel.x[2], #points > 0 and points[#points][1] * 1.02 or 0)
    return #points > 0 and points or nil
  end)
  panel.levels = M.make_levels(cell.task, scored.metric)
  panel.is_thinned = panel.is_thinned or points_by_run[1] and #points_by_run[1] > curves.POINTS
  local samples = #chosen_runs == 1 and make_sample_band(chosen_runs[1], scored) or nil
  panel.has_sample_band = panel.has_sample_band or samples ~= nil
  seed_curves.add_curves(panel, points_by_run, style, title, { mean = seed_curves.average(points_by_run), band = samples
    or seed_curves.find_quartiles(points_by_run), cell = cell.number })
end

function M.make_legend(study, axis, names, styles)
  return lists.map(names, function(name)
    return { title = score_tables.label(study, axis, name), style = styles[name] }
  end)
end

-- Returns styles for the values of an axis of the full study, so that a value looks the same in every figure.
function M.choose_styles(study, axis)
  return colours.choose_styles_along(score_tables.list_values(study.full_study, axis))
end

local function is_percent(study)
  return metrics.by_name[study.scored.metric].unit == "percent"
end

-- Makes the figure of an item of the kind "curves": scores by length. The axis `panels` has a panel for each value, and
-- the axis `lines` a line for each value.
function M.make_by_length(study, item)
  local names = score_tables.list_values(study, item.lines)
  local styles = M.choose_styles(study, item.lines)
  local figure = { panels = {}, legend = M.make_legend(study, item.lines, names, styles) }
  for _, name in ipairs(score_tables.list_panels(study, item)) do
    local panel = { title = name and score_tables.label(study, item.panels, name) or "", xlabel = "length",
      ylabel = study.scored.metric == "accuracy" and "token accuracy" or entries.name_metric(study), x = { 0, 1 },
      percent = is_percent(study), curves = {}, marks = {} }
    local lines = lists.map(score_tables.list_along(study, item, item.lines, name and { [item.panels] = name }),
      function(line) return line.cell and lists.update(line, { style = styles[line.name] }) end)
    for _, line in ipairs(lines) do
      add_cell(panel, line.cell, line.label, line.style, study.scored)
    end
    if #panel.curves > 0 then
      scales.fit_panel(panel)
      panel.strip = novelty_strip.make(study, panel, lines)
      figure.panels[#figure.panels + 1] = panel
    end
  end
  if #figure.panels == 0 then
    return nil
  end
  local function has_panel_with(field)
    return lists.find(figure.panels, function(panel) return panel[field] end)
  end
  local axis = figure.panels[1].xlabel
  local strips = lists.map(figure.panels, function(panel) return panel.strip end)
  lists.append(figure.legend, lists.drop_repeats(lists.collect(strips, function(strip) return strip.legend end)))
  figure.title = score_tables.make_title(item, ("%s by %s"):format(entries.name_metric(study), axis))
  figure.caption = captions.join(M.BOLD .. M.SEEDS .. (has_panel_with("has_sample_band") and SAMPLES_TEXT or ""),
    captions.describe_decoding(study), captions.name_rates(study),
    axis == "length" and "Shaded: lengths of training, up to the longest (dashed)",
    strips[1] and novelty_strip.CAPTION,
    lists.find(figure.panels, function(panel) return #panel.levels > 0 end)
      and "Flat lines: chance, and the majority baseline where it is higher",
    has_panel_with("is_thinned") and ("Neighbouring lengths are averaged, so that a curve has at most %d points")
      :format(curves.POINTS))
  return figure
end

-- Returns the evaluations of a run during training as points { seconds of training, score }.
local function list_timed_scores(run, metric)
  local clock = runs.read_clock(run)
  return lists.map(run.during, function(point)
    local seconds = time_to_threshold.interpolate_seconds(clock, point.step)
    return seconds and seconds > 0 and point.mean[metric]
      and { seconds, metrics.by_name[metric].factor * point.mean[metric] } or nil
  end)
end

-- Returns the means of points with equal indices; the result is as long as the shortest list of points.
local function average_timed(timed_runs)
  local mean = {}
  while timed_runs[1] and not lists.find(timed_runs, function(points) return not points[#mean + 1] end) do
    local equal_points = lists.map(timed_runs, function(points) return points[#mean + 1] end)
    mean[#mean + 1] = { lists.sum(equal_points, function(point) return point[1] end) / #equal_points,
      lists.sum(equal_points, function(point) return point[2] end) / #equal_points }
  end
  return mean
end

-- Summarizes the training times until runs reach a threshold:
--   reached   the number of runs that reach the threshold
--   runs      the number of all runs
--   median    the median time of all runs in seconds; nil if it is infinite
--   fastest   the shortest time in seconds; nil if no run reaches the threshold
local function measure_times(timed_runs, threshold)
  local times = lists.map(timed_runs, function(points) -- a run that never reaches the threshold has an infinite time
    return time_to_threshold.find_first(points, threshold) or math.huge
  end)
  local finite_times = lists.filter(times, function(time) return time < math.huge end)
  local median = statistics.quantile(times, 0.5)
  return { reached = #finite_times, runs = #times, median = median and median < math.huge and median or nil,
    fastest = finite_times[1] and math.min(table.unpack(finite_times)) }
end

local function format_time(seconds)
  return seconds and wording.format_duration(seconds) or "not reached"
end

local function tabulate_times(study, item, times, threshold)
  local rows = lists.map(score_tables.list_along(study, item, item.lines), function(line)
    local time = times[line.name]
    return { line.label, ("%d of %d"):format(time.reached, time.runs), format_time(time.median),
      format_time(time.fastest), cell = line.cell, is_missing = time.runs == 0 }
  end)
  local titles = lists.map({ item.slow, item.fast }, function(name)
    return score_tables.label(study, item.lines, name)
  end)
  local slow, fast = times[item.slow] or {}, times[item.fast] or {}
  local ratios = lists.map({ "median", "fastest" }, function(key)
    return slow[key] and fast[key] and ("%.1f times"):format(slow[key] / fast[key]) or entries.MISSING
  end)
  rows[#rows + 1] = lists.append({ table.concat(titles, " / "), "" }, ratios)
  local caption = ("Runs at the chosen learning rate; times until the first evaluation at or above %g%%; in the "
    .. "median, runs without such an evaluation count as slowest%s"):format(threshold, item.published
    and ("; the paper prints a ratio of %g"):format(item.published) or "")
  local title = ("Training time to %g%% %s"):format(threshold, entries.name_metric(study))
  local contents = entries.tabulate({ title = score_tables.make_title({ where = item.where }, title), caption = caption,
    heads = { item.lines, "runs", "median", "fastest" }, rows = rows })
  contents.rows[#rows].is_summary = true
  return contents
end

-- Makes the figure and the table of an item of the kind "time".
function M.make_by_time(study, item)
  local threshold = item.threshold or 90
  local panel = { xlabel = "seconds of training, evaluation excluded", ylabel = entries.name_metric(study),
    x = { math.huge, 0, log = 10 }, percent = is_percent(study), curves = {},
    levels = { { threshold, ("%g%%"):format(threshold) } } }
  local times, styles = {}, M.choose_styles(study, item.lines)
  for _, line in ipairs(score_tables.list_along(study, item, item.lines)) do
    local timed_runs = lists.map(runs.get_chosen_runs(line.cell), function(run)
      local points = list_timed_scores(run, study.scored.metric)
      return #points > 0 and points or nil
    end)
    for _, points in ipairs(timed_runs) do
      panel.x[1], panel.x[2] = math.min(panel.x[1], points[1][1]), math.max(panel.x[2], points[#points][1])
    end
    seed_curves.add_curves(panel, timed_runs, styles[line.name], line.label, { mean = average_timed(timed_runs),
      cell = line.cell and line.cell.number })
    times[line.name] = measure_times(timed_runs, threshold)
  end
  if panel.x[2] < MIN_LOG_RATIO * panel.x[1] then
    panel.x = { 0, panel.x[2] * 1.02 }
  end
  scales.fit_panel(panel)
  local figure = { panels = { panel },
    title = score_tables.make_title(item, entries.name_metric(study) .. " over training time"),
    caption = captions.join("bold: mean over the seeds at the chosen learning rate; faint: these seeds; "
      .. "evaluations during training", captions.name_rates(study)) }
  return #panel.curves > 0 and figure or nil, { tabulate_times(study, item, times, threshold) }
end

-- Returns the curves of a value of the axis `lines`. line_name: the value; false: the item has no such axis.
--   item.show is "max": the curves of the best score and of the mean score
--   else: the curve of the median score, with a band from the lowest to the highest score
local function make_curves(study, item, line_name, style)
  local values = score_tables.list_along(study, item, item.x, line_name and { [item.lines] = line_name })
  -- Points { x, summary of a cell, index of this cell }.
  local points = seed_curves.sort(lists.map(values, function(value)
    local summary = value.cell and value.cell.summary
    return summary and summary.best_score and summary.best_rate
      and { score_tables.parse_number(value.name), summary, value.cell.number } or nil
  end))
  local cells_by_x = {}
  for _, point in ipairs(points) do
    cells_by_x[point[1]] = point[3]
  end
  local function make_curve(title, dash, get_value)
    return #points > 0 and { points = lists.map(points, function(point) return { point[1], get_value(point[2]) } end),
      style = lists.merge(style, { dash = dash }), line = title, cells = cells_by_x } or nil
  end
  local name = line_name and score_tables.label(study, item.lines, line_name) or "median"
  if item.show ~= "max" then
    local median = make_curve(name, style.dash, function(summary) return summary.best_rate.median end)
    local band = make_curve(nil, nil, function(summary) return summary.best_rate.min, summary.best_rate.max end)
    return { median and lists.update(median, { band = band.points }) }
  end
  local prefix = line_name and name .. ", " or ""
  return { make_curve(prefix .. "best", "solid", function(summary) return summary.best_score end),
    make_curve(prefix .. "mean", "(3,3)", function(summary) return summary.best_rate.mean end) }
end

-- Returns an axis (scales.lua) that contains all ticks; it is logarithmic if all ticks are positive.
local function choose_range(ticks)
  local low, high = math.min(table.unpack(ticks)), math.max(table.unpack(ticks))
  if low > 0 then
    return { low / 1.2, high * 1.2, log = 2, ticks = ticks }
  end
  local margin = high > low and 0.05 * (high - low) or 1
  return { low - margin, high + margin, ticks = ticks }
end

-- Makes the figure of an item of the kind "axis": scores along an axis of numbers.
function M.make_along_axis(study, item)
  local ticks = lists.map(score_tables.list_values(study, item.x), score_tables.parse_number)
  local panel = { xlabel = item.x, ylabel = entries.name_metric(study), percent = is_percent(study), curves = {},
    x = choose_range(ticks) }
  local styles = item.lines and M.choose_styles(study, item.lines) or { [false] = colours.choose_style("") }
  for _, line_name in ipairs(item.lines and score_tables.list_values(study, item.lines) or { false }) do
    lists.append(panel.curves, make_curves(study, item, line_name, styles[line_name]))
  end
  scales.fit_panel(panel)
  local heading = item.show == "max"
    and "solid: the best of all seeds and learning rates; dashed: mean over seeds at the chosen learning rate"
    or "median over seeds at the chosen learning rate; bands: from lowest to highest seed"
  return #panel.curves > 0 and { panels = { panel }, title = score_tables.make_title(item, ("%s along %s"):format(
    entries.name_metric(study), item.x)), caption = captions.join(heading, captions.describe(study, true)) } or nil
end

function M.make_by_epoch(study, item)
  local names = score_tables.list_values(study, item.lines)
  local styles = M.choose_styles(study, item.lines)
  local panels = progress.make_panels(study, item, styles)
  local shown_scores = lists.drop_repeats(lists.map(panels, function(panel)
    return panel.split == progress.LOSS and "loss" or entries.name_metric(study)
  end))
  return #panels > 0 and { panels = panels, legend = M.make_legend(study, item.lines, names, styles),
    title = score_tables.make_title(item, table.concat(shown_scores, " and ") .. " while training"),
    caption = captions.join(M.BOLD .. M.SEEDS .. ". Training loss and accuracy are of training batches; all "
      .. "other curves are of evaluations during training", captions.is_generative(study)
      and "accuracies of training batches are teacher-forced", captions.name_rates(study)) } or nil
end

return M
