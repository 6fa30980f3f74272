-- Figures of a report, from the cells of a study: accuracy by length, over training time and epochs, along an axis.
--
-- Input: a study with its cells read, an item (items.lua). Output: figure = { title, caption, panels, legend }, as
-- curves.lua draws it, and for times a table, as views.lua makes them; nil where nothing was measured.

local captions = require("lab.study.report.tables.captions")
local colours = require("lab.study.report.figures.colours")
local curves = require("lab.study.report.figures.curves")
local entries = require("lab.study.report.tables.table_entries")
local metrics = require("lab.study.read.metrics")
local progress = require("lab.study.report.figures.progress")
local reached = require("lab.study.report.tables.reached")
local runs = require("lab.study.read.runs")
local scales = require("lab.study.report.figures.scales")
local statistics = require("lab.study.read.statistics")
local views = require("lab.study.report.tables.views")
local wording = require("base.wording")

local M = {}

local FEW_DECADES = 20 -- times that differ less are drawn on a linear axis
local FEWEST_SEEDS = 3 -- of which quartiles are shown
local BOLD = "Bold: mean over the seeds at the chosen learning rate of each; "
local SEEDS = "faint: these seeds; bands: quartiles of the seeds, where there are three or more"
local SAMPLES = "; of a single seed the 95% Wilson interval of its exact match, over the examples of each length"

local function by_x(a, b)
  return a[1] < b[1]
end

-- The last evaluation of a run, by length: { { length, score }, ... }, shares in percent.
local function points_of(run, scored)
  local points, factor = {}, metrics.of[scored.metric].factor
  for _, evaluation in ipairs(runs.curve(run, scored.split)) do
    local list = evaluation[scored.metric] or {}
    for i, length in ipairs(evaluation.lengths) do
      local value = tonumber(list[i])
      points[#points + 1] = value and { length, factor * value }
    end
  end
  table.sort(points, by_x)
  return points
end

-- The values of several lists of points by x, and all x, rising.
local function gather(lists)
  local at, xs = {}, {}
  for _, points in ipairs(lists) do
    for _, point in ipairs(points) do
      local x = point[1]
      if not at[x] then
        at[x] = {}
        xs[#xs + 1] = x
      end
      table.insert(at[x], point[2])
    end
  end
  table.sort(xs)
  return at, xs
end

-- The mean over several lists of points at each x that any of them has.
local function mean_curve(lists)
  local mean, at, xs = {}, gather(lists)
  for i, x in ipairs(xs) do
    mean[i] = { x, statistics.mean(at[x]) }
  end
  return mean
end

-- Of one run alone, the interval of its exact match over the examples, { x, low, high }; nil where lines have none.
local function sample_band(run, scored)
  local band = {}
  for _, evaluation in ipairs(scored.metric == "exact_match" and runs.curve(run, scored.split) or {}) do
    local low, high = evaluation.exact_match_low or {}, evaluation.exact_match_high or {}
    for i, length in ipairs(evaluation.lengths) do
      local from, to = tonumber(low[i]), tonumber(high[i])
      band[#band + 1] = from and to and { length, 100 * from, 100 * to } or nil
    end
  end
  table.sort(band, by_x)
  return #band > 0 and band or nil
end

-- Likewise the quartiles, { x, first, third }, where there are seeds enough for them.
local function quartiles(lists)
  local band, at, xs = {}, gather(#lists >= FEWEST_SEEDS and lists or {})
  for i, x in ipairs(xs) do
    band[i] = { x, statistics.quantile(at[x], 0.25), statistics.quantile(at[x], 0.75) }
  end
  return #band > 0 and band or nil
end

-- A bold curve and faint ones for its seeds. more: what else is known of the bold one.
local function add_curves(panel, lists, style, mean, title, more)
  for _, points in ipairs(#lists > 1 and lists or {}) do
    panel.curves[#panel.curves + 1] = { points = points, style = style, faint = true, line = title }
  end
  if #mean > 0 then
    panel.curves[#panel.curves + 1] = { points = mean, style = style, title = title, line = title, band = more.band,
      cell = more.cell }
  end
end

-- Chance and the analytic baseline of a task, their names apart where the values are close; of accuracies alone.
local function levels_of(task, metric)
  if not task or not task.chance or not metrics.of[metric or "accuracy"].guessed then
    return {}
  end
  local levels = { { 100 * task.chance, ("chance %.0f%%"):format(100 * task.chance) } }
  local baseline = task.baseline and 100 * task.baseline
  if baseline and baseline > levels[1][1] + 0.05 then
    local close = baseline - levels[1][1] < 8
    levels[1][3] = close and -0.5 or 0
    levels[2] = { baseline, ("majority %.1f%%"):format(baseline), close and 0.5 or 0 }
  end
  return levels
end

M.levels_of = levels_of

-- The training lengths of a run: its longest gets a line, and what all runs of the panel were trained at a shade. None
-- where they are not recorded, or the curve goes along another axis.
local function add_training(panel, run)
  local lengths = run.axis == "length" and runs.lengths(run, "train") or {}
  if #lengths == 0 then
    return
  end
  local first, last = math.min(table.unpack(lengths)), math.max(table.unpack(lengths))
  local shade, known = panel.shade or { first, last }, false
  panel.shade = { math.max(shade[1], first), math.min(shade[2], last) }
  for _, mark in ipairs(panel.marks) do
    known = known or mark[1] == last
  end
  panel.marks[#panel.marks + 1] = not known and { last } or nil
end

local function add_cell(panel, cell, line, style, scored)
  local shown = cell.summary.best and cell.summary.best.runs or {}
  local lists = {}
  for _, run in ipairs(shown) do
    local points = points_of(run, scored)
    lists[#lists + 1] = #points > 0 and points or nil
    panel.xlabel = runs.axis_text(run)
    add_training(panel, run)
    panel.x[2] = math.max(panel.x[2], #points > 0 and points[#points][1] * 1.02 or 0)
  end
  panel.levels = levels_of(cell.task, scored.metric)
  panel.thinned = panel.thinned or lists[1] and #lists[1] > curves.POINTS
  local samples = #shown == 1 and sample_band(shown[1], scored) or nil
  panel.samples = panel.samples or samples ~= nil
  add_curves(panel, lists, style, mean_curve(lists), line, { band = samples or quartiles(lists), cell = cell.number })
end

local function legend_of(axis, names, styles)
  local legend = {}
  for i, name in ipairs(names) do
    legend[i] = { title = views.label(axis, name), style = styles[name] }
  end
  return legend
end

-- By the names of the whole axis, so that a value looks the same in every figure and on every page.
local function styles_along(study, axis)
  return colours.along(views.axis(study.whole, axis))
end

local function is_percent(study)
  return metrics.of[study.scored.metric].unit == "percent"
end

-- The score by length, one panel per value of an axis, one colour per value of another.
function M.by_length(study, item)
  local names = views.axis(study, item.lines)
  local styles = styles_along(study, item.lines)
  local figure = { panels = {}, legend = legend_of(item.lines, names, styles) }
  local thinned, samples, levels = false, false, false
  for _, name in ipairs(item.panels and views.axis(study, item.panels) or { false }) do
    local panel = { title = name and views.label(item.panels, name) or "", xlabel = "length",
      ylabel = study.scored.metric == "accuracy" and "token accuracy" or entries.metric(study), x = { 0, 1 },
      percent = is_percent(study), curves = {}, marks = {} }
    for _, line in ipairs(names) do
      local key = views.with(item.where, { [item.lines] = line, [item.panels or item.lines] = name or line })
      local cell = views.find(study, key)
      if cell then
        add_cell(panel, cell, views.label(item.lines, line), styles[line], study.scored)
      end
    end
    thinned, samples = thinned or panel.thinned, samples or panel.samples
    levels = levels or panel.levels and #panel.levels > 0
    if #panel.curves > 0 then
      scales.fit(panel)
      figure.panels[#figure.panels + 1] = panel
    end
  end
  local axis = figure.panels[1] and figure.panels[1].xlabel
  figure.title = views.title_of(item, ("%s by %s"):format(entries.metric(study), axis or "length"))
  local parts = { BOLD .. SEEDS .. (samples and SAMPLES or "") .. ".", captions.curves(study) }
  parts[#parts + 1] = axis == "length" and "Shaded: lengths of training, up to the longest (dashed)." or nil
  parts[#parts + 1] = levels and "Flat lines: chance, and the majority baseline where it is higher." or nil
  parts[#parts + 1] = thinned and ("Neighbouring lengths are averaged, so that a curve has at most %d points."):format(
    curves.POINTS) or nil
  figure.caption = table.concat(parts, " ")
  return #figure.panels > 0 and figure or nil
end

-- Evaluations during training as { seconds, score }.
local function timed(run, metric)
  local clock, points = runs.clock(run), {}
  for _, point in ipairs(run.during) do
    local seconds = reached.seconds_at(clock, point.step)
    points[#points + 1] = seconds and seconds > 0 and point.mean[metric]
      and { seconds, metrics.of[metric].factor * point.mean[metric] } or nil
  end
  return points
end

-- The mean at equal places of the lists, in seconds and in accuracy; as far as the shortest goes.
local function mean_timed(lists)
  local mean, count = {}, #lists > 0 and math.huge or 0
  for _, points in ipairs(lists) do
    count = math.min(count, #points)
  end
  for i = 1, count do
    local x, y = 0, 0
    for _, points in ipairs(lists) do
      x, y = x + points[i][1], y + points[i][2]
    end
    mean[i] = { x / #lists, y / #lists }
  end
  return mean
end

-- The median, where runs that never get there count as longer than any.
local function median_time(times, runs_made)
  local padded = table.move(times, 1, #times, 1, {})
  for i = #times + 1, runs_made do
    padded[i] = math.huge
  end
  local median = statistics.quantile(padded, 0.5)
  return median and median == median and median < math.huge and median or nil
end

local function time_text(seconds)
  return seconds and wording.duration(seconds) or "not reached"
end

local function time_row(line, cell, lists, threshold)
  local times = {}
  for _, points in ipairs(lists) do
    times[#times + 1] = reached.first(points, threshold)
  end
  local fastest = #times > 0 and math.min(table.unpack(times)) or nil
  local median = median_time(times, #lists)
  local texts = { ("%d of %d"):format(#times, #lists), time_text(median), time_text(fastest) }
  local row = { title = line, cells = {}, median = median, fastest = fastest }
  for i, text in ipairs(texts) do
    row.cells[i] = { texts = { text }, number = cell and cell.number, missing = #lists == 0 }
  end
  return row
end

local function ratio_row(rows, item)
  local at = {}
  for _, row in ipairs(rows) do
    at[row.title] = row
  end
  local slow, fast = at[item.slow], at[item.fast]
  local row = { title = ("%s / %s"):format(item.slow, item.fast), cells = { { texts = { "" } } }, last = true }
  for i, key in ipairs({ "median", "fastest" }) do
    local ratio = slow and fast and slow[key] and fast[key] and slow[key] / fast[key]
    row.cells[i + 1] = { texts = { ratio and ("%.1f times"):format(ratio) or entries.MISSING }, missing = not ratio }
  end
  return row
end

local function time_table(rows, item, threshold, metric)
  rows[#rows + 1] = ratio_row(rows, item)
  local about = ("Runs at the chosen learning rate; the first evaluation at or above %g%%; runs that never get there "
    .. "count as longer than any in the median%s"):format(threshold, item.published
    and ("; the paper prints a ratio of %g"):format(item.published) or "")
  local title = views.title_of({ where = item.where }, ("Training time to %g%% %s"):format(threshold, metric))
  return { title = title, about = about, corner = item.lines, notes = {},
    subs = { "" }, columns = { { title = "runs" }, { title = "median" }, { title = "fastest" } }, rows = rows }
end

-- Accuracy during training over seconds: the figure, and a table of times to a threshold.
function M.by_time(study, item)
  local names, threshold = views.axis(study, item.lines), item.threshold or 90
  local panel = { xlabel = "seconds of training, evaluation excluded", ylabel = entries.metric(study),
    x = { math.huge, 0, log = 10 }, percent = is_percent(study), curves = {},
    levels = { { threshold, ("%g%%"):format(threshold) } } }
  local rows, styles = {}, styles_along(study, item.lines)
  for _, line in ipairs(names) do
    local cell = views.find(study, views.with(item.where, { [item.lines] = line }))
    local best, lists = cell and cell.summary.best, {}
    for _, run in ipairs(best and best.runs or {}) do
      local points = timed(run, study.scored.metric)
      lists[#lists + 1] = #points > 0 and points or nil
    end
    for _, points in ipairs(lists) do
      panel.x[1], panel.x[2] = math.min(panel.x[1], points[1][1]), math.max(panel.x[2], points[#points][1])
    end
    add_curves(panel, lists, styles[line], mean_timed(lists), views.label(item.lines, line),
      { cell = cell and cell.number })
    rows[#rows + 1] = time_row(line, cell, lists, threshold)
  end
  if panel.x[2] < FEW_DECADES * panel.x[1] then
    panel.x = { 0, panel.x[2] * 1.02 }
  end
  scales.fit(panel)
  local figure = { panels = { panel }, title = views.title_of(item, entries.metric(study) .. " over training time"),
    caption = captions.before("bold: mean over the seeds at the chosen learning rate; faint: these seeds; evaluations "
      .. "during training", captions.rates_sentence(study)) }
  return #panel.curves > 0 and figure or nil, time_table(rows, item, threshold, entries.metric(study))
end

local function axis_lines(study, item, values)
  local lines = {}
  for _, line in ipairs(item.lines and views.axis(study, item.lines) or { "" }) do
    local entry = { name = line, max = {}, mean = {}, median = {}, band = {}, cells = {} }
    for _, value in ipairs(values) do
      local key = views.with(item.where, { [item.x] = value, [item.lines or item.x] = item.lines and line or value })
      local cell = views.find(study, key)
      local x, s = views.number(value), cell and cell.summary
      if s and s.max and s.best then
        table.insert(entry.max, { x, s.max })
        table.insert(entry.mean, { x, s.best.mean })
        table.insert(entry.median, { x, s.best.median })
        table.insert(entry.band, { x, s.best.least, s.best.most })
        entry.cells[x] = cell.number
      end
    end
    for _, name in ipairs({ "max", "mean", "median", "band" }) do
      table.sort(entry[name], by_x)
    end
    lines[#lines + 1] = #entry.max > 0 and entry or nil
  end
  return lines
end

-- The curves of a line: the median with its band, or the best and the mean.
local function add_along(panel, line, style, item)
  local name = item.lines and views.label(item.lines, line.name) or "median"
  if item.show ~= "max" then
    panel.curves[#panel.curves + 1] = { points = line.median, band = line.band, style = style, title = name,
      line = name, cells = line.cells }
    return
  end
  local comma = item.lines and name .. ", " or ""
  for _, one in ipairs({ { "max", "best", "solid" }, { "mean", "mean", "(3,3)" } }) do
    panel.curves[#panel.curves + 1] = { points = line[one[1]], title = comma .. one[2], line = comma .. one[2],
      cells = line.cells, style = { colour = style.colour, dash = one[3], point = style.point } }
  end
end

-- From the lowest to the highest place with some room; in powers of two where nothing speaks against it.
local function range_of(ticks)
  local low, high = math.min(table.unpack(ticks)), math.max(table.unpack(ticks))
  if low > 0 then
    return { low / 1.2, high * 1.2, log = 2, ticks = ticks }
  end
  local room = high > low and 0.05 * (high - low) or 1
  return { low - room, high + room, ticks = ticks }
end

-- Scores along an axis whose values are numbers: the median at the chosen learning rate between the least and the most,
-- and where `show` is "max" the best of all runs, and the mean at the chosen learning rate.
function M.along_axis(study, item)
  local values, ticks = views.axis(study, item.x), {}
  for i, value in ipairs(values) do
    ticks[i] = views.number(value)
  end
  local panel = { xlabel = item.x, ylabel = entries.metric(study), percent = is_percent(study), curves = {},
    x = range_of(ticks) }
  local styles = item.lines and styles_along(study, item.lines) or colours.all({ "" })
  for _, line in ipairs(axis_lines(study, item, values)) do
    add_along(panel, line, styles[line.name], item)
  end
  scales.fit(panel)
  local what = item.show == "max" and "solid: the best of all seeds and learning rates; dashed: mean over seeds at the "
    .. "chosen learning rate" or "median over seeds at the chosen learning rate; bands: from the least to the most seed"
  return #panel.curves > 0 and { panels = { panel }, title = views.title_of(item, ("%s along %s"):format(
    entries.metric(study), item.x)), caption = captions.before(what, captions.details(study, true)) } or nil
end

-- Loss and accuracy while models train, a panel for each set and value of an axis.
function M.by_epoch(study, item)
  local names = views.axis(study, item.lines)
  local styles = styles_along(study, item.lines)
  local panels, has = progress.panels(study, item, styles, function(panel, lists, style, title, cell)
    add_curves(panel, lists, style, mean_curve(lists), title, { band = quartiles(lists), cell = cell.number })
  end)
  local what = (has.loss and "loss" or "") .. (has.loss and has.other and " and " or "") .. (has.other
    and entries.metric(study) or "")
  return #panels > 0 and { panels = panels, legend = legend_of(item.lines, names, styles),
    title = views.title_of(item, what .. " while training"),
    caption = captions.before(BOLD .. SEEDS .. ". Batches of training are as they were met, all else is of "
      .. "evaluations on the way", captions.progress(study)) } or nil
end

return M
