-- Principal components of activations at two lengths (figure 5 of Ruoss et al. 2023; docs/analyses.md).
--
-- Input: runs as analyze.lua opens them, and lengths, sequences, part. Output: the files pca.csv (a point per line),
-- summary.csv, pca.gnuplot. The mean and two components of each run and site are fitted at the first length and applied
-- at the other lengths, not whitened.

local lists = require("base.lists")
local panels = require("lab.study.analyze.pictures.panels")
local pca = require("lab.study.analyze.mathematics.pca")
local scales = require("lab.study.report.figures.scales")
local sheets = require("lab.study.analyze.sheets")
local statistics = require("lab.study.read.statistics")
local stop = require("lab.stop").with

local M = {}

local FAINT, COLOURED = 600, 1500 -- most grey and coloured points of a panel; the file has all points
local FLAT = 1e-9                 -- a smaller share of all variance is rounding
local INSIDE = 0.99               -- share of the fitted points within the radius that defines `outside`

-- Returns the activations of a part of every sequence: a list for each channel. Ends the analysis if an activation is
-- NaN or infinite: nothing can be fitted to it.
local function points_of(source, file, site, length, part)
  local name, channels = ("n%d.%s"):format(length, site), {}
  local sequences, tokens, width = table.unpack(file.entries[name].shape)
  for c = 1, width do
    channels[c] = {}
  end
  for s = 0, sequences - 1 do
    for i, value in ipairs(source:read(file, name, (s * tokens + part.first) * width, part.count * width)) do
      if value - value ~= 0 then
        stop(1, ("%s: activations at %s, length %d: found %s; expected numbers that are finite"):format(source.run.dir,
          site, length, value))
      end
      table.insert(channels[(i - 1) % width + 1], value)
    end
  end
  return channels
end

-- Returns the first position of a part in sequences of a length, and its number of positions.
local function part_of(source, file, length, options)
  local tokens = source:shape(file, length, "tokens", options.sequences)[2]
  local inputs, outputs = source:parts(length, tokens)
  return options.part == "input" and { first = 0, count = inputs } or { first = tokens - outputs, count = outputs }
end

-- Returns the components that vary; sets points to 0 along other components, where their values are rounding.
local function varying(projected, fitted)
  local list = {}
  for k, variance in ipairs(fitted.variance) do
    if variance > FLAT * fitted.total then
      list[#list + 1] = k
    else
      for i = 1, #projected[k] do
        projected[k][i] = 0.0
      end
    end
  end
  return list
end

-- Returns each point's squared distance from the fitted mean in the plane: the mean of the squared coordinates, in
-- standard deviations, over the components that vary. Its mean over the fitted points is 1.
local function radii(projected, fitted)
  local components = varying(projected, fitted)
  return lists.map(projected[1], function(_, i)
    return statistics.mean(lists.map(components, function(k)
      return projected[k][i] ^ 2 / fitted.variance[k]
    end)) or 1.0
  end)
end

-- Analyzes one site of one run: fits at the first length, measures at all lengths.
local function site_of(source, file, site, options, parts)
  local result = { site = site, lengths = {} }
  for i, length in ipairs(options.lengths) do
    local points = points_of(source, file, site, length, parts[i])
    result.fitted = result.fitted or pca.fit(points, 2)
    local projected, spread = pca.project(result.fitted, points)
    local radius = radii(projected, result.fitted)
    result.limit = result.limit or statistics.quantile(radius, INSIDE)
    result.lengths[i] = { length = length, x = projected[1], y = projected[2], count = parts[i].count,
      first = parts[i].first, drift = statistics.mean(radius), outside = statistics.share_above(radius, result.limit),
      spread = result.fitted.total > 0 and spread / result.fitted.total or 1 }
  end
  return result
end

local function analyze(source, options)
  local file = source:trace("activations", options.lengths, options.sequences)
  local parts = lists.map(options.lengths, function(length) return part_of(source, file, length, options) end)
  local sites = lists.map(source:sites(file, options.lengths[1], "activations"), function(site)
    return site_of(source, file, site, options, parts)
  end)
  return { label = source.label, sites = sites, accuracy = source:accuracy(options.lengths, options.sequences) }
end

-- Formats numbers with six digits, as in the files.
local function six_digits(...)
  return table.unpack(lists.map({ ... }, function(value) return ("%.6g"):format(value) end))
end

local function points_csv(results)
  return sheets.csv("pca.csv", "run,site,length,sequence,position,pc1,pc2", function(add)
    for result, site in lists.nested(results, "sites") do
      for _, at in ipairs(site.lengths) do
        for i = 1, #at.x do
          add(result.label, site.site, at.length, (i - 1) // at.count + 1, at.first + (i - 1) % at.count,
            six_digits(at.x[i], at.y[i]))
        end
      end
    end
  end)
end

-- Returns the shares of the variance that the two components explain.
local function explained(site)
  local total = site.fitted.total
  return total > 0 and site.fitted.variance[1] / total or 0, total > 0 and site.fitted.variance[2] / total or 0
end

local function summary_csv(results)
  return sheets.csv("summary.csv", "run,site,length,accuracy,explained1,explained2,drift,outside,spread", function(add)
    for result, site in lists.nested(results, "sites") do
      local first, second = explained(site)
      for _, at in ipairs(site.lengths) do
        add(result.label, site.site, at.length, six_digits(result.accuracy[at.length], first, second, at.drift,
          at.outside, at.spread))
      end
    end
  end)
end

local function say_results(results, options)
  for _, result in ipairs(results) do
    local words = lists.map(options.lengths, function(length)
      return ("%.4f at length %d"):format(result.accuracy[length], length)
    end)
    options.say(("%s: accuracy %s"):format(result.label, table.concat(words, ", ")))
    options.say(("  %-18s %10s %10s %8s %9s %9s %9s"):format("site", "explained", "", "length", "drift", "outside",
      "spread"))
    for _, site in ipairs(result.sites) do
      for i = 2, #site.lengths do
        local at = site.lengths[i]
        local first, second = explained(site)
        options.say(("  %-18s %9.1f%% %9.1f%% %8d %9.3f %8.1f%% %9.3f"):format(site.site, 100 * first, 100 * second,
          at.length, at.drift, 100 * at.outside, at.spread))
      end
    end
  end
  options.say(("drift: mean squared distance from the fitted mean in the plane, 1 at length %d; outside: share beyond "
    .. "%.0f%% of the fitted points; spread: as drift, over all channels"):format(options.lengths[1], 100 * INSIDE))
end

-- Adds a block of data, "x y position": every k-th point, at most `most` points.
local function add_points(data, name, at, most)
  local lines = {}
  local step = math.max(1, (#at.x + most - 1) // most)
  for i = 1, #at.x, step do
    lines[#lines + 1] = ("%.5g %.5g %d"):format(at.x[i], at.y[i], at.first + (i - 1) % at.count)
  end
  panels.add_block(data, name, lines)
end

local SETTINGS = {
  "unset key", "set border 3 lc rgb '#444444'", "set tics nomirror scale 0.4 font ',8' textcolor rgb '#444444'",
  "set xtics offset 0,0.4", "set ytics offset 0.6,0",
  "set colorbox user origin graph 1.08, graph 0 size graph 0.06, graph 1", "set cblabel 'token' offset -1,0 font ',9'",
}

-- Returns the gnuplot lines of an axis for lists of numbers; flat: they are all 0.
local function axis(letter, flat, numbers)
  return flat and ("set %srange [-1:1]\nset %stics 1"):format(letter, letter) or scales.fitting(letter, numbers)
end

local function panel(key, site, at, last)
  local layer = site.site:match("%d+")
  local least, first = FLAT * site.fitted.total, site.lengths[1]
  return { title = ("%s, drift %.2f"):format(layer and "layer " .. layer + 1 or site.site, at.drift), lines = {
    axis("x", site.fitted.variance[1] <= least, { first.x, at.x }),
    axis("y", site.fitted.variance[2] <= least, { first.y, at.y }),
    last and "set colorbox" or "unset colorbox",
    ("set cbrange [%d:%d]"):format(at.first, at.first + math.max(1, at.count - 1)),
    ("plot $%s_cloud using 1:2 with points pt 7 ps 0.35 lc rgb '#c8c8c8', $%s using 1:2:3 with points pt 7 ps 0.25 "
      .. "lc palette"):format(key, key),
  } }
end

local function picture(results, options)
  local rows, data = {}, {}
  for r, result in ipairs(results) do
    for i = 2, #options.lengths do
      local row = { label = ("%s: length %d, accuracy %.3f; grey: length %d, accuracy %.3f"):format(result.label,
        options.lengths[i], result.accuracy[options.lengths[i]], options.lengths[1],
        result.accuracy[options.lengths[1]]) }
      for s, site in ipairs(result.sites) do
        local key = ("p%d_%d_%d"):format(r, i, s)
        add_points(data, key .. "_cloud", site.lengths[1], FAINT)
        add_points(data, key, site.lengths[i], COLOURED)
        row[#row + 1] = panel(key, site, site.lengths[i], s == #result.sites)
      end
      rows[#rows + 1] = row
    end
  end
  local title = ("Activations of the %s tokens: principal components of length %d"):format(options.part,
    options.lengths[1])
  return panels.script({ name = "pca", title = title, note = "grey: points of the fit; colours: other "
    .. "sequences, by token", panel = 190, settings = SETTINGS, data = data, rows = rows })
end

-- The files of the analysis.
function M.run(sources, options)
  local results = lists.map(sources, function(source) return analyze(source, options) end)
  say_results(results, options)
  return { points_csv(results), summary_csv(results), { path = "pca.gnuplot", text = picture(results, options) } }
end

return M
