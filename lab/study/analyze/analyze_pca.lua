-- Principal components of activations at several lengths (figure 5 of Ruoss et al. 2023; docs/analyses.md).
--
-- Input: sources (source.lua), and lengths, sequences (the count at each length), part ("input" or "output").
-- Output: as in analyze.lua, with pca.csv, summary.csv. The mean and two components of each run and site are fitted at
-- the first length and applied, not whitened, at the others.

local lists = require("base.lists")
local pca = require("lab.study.analyze.mathematics.pca")
local scales = require("lab.study.report.figures.scales")
local scatter = require("lab.study.analyze.pictures.scatter")
local sheets = require("lab.study.analyze.sheets")
local statistics = require("lab.study.read.statistics")
local stop = require("lab.stop").exit

local M = {}

local INPUT = 1 -- exit code
local MAX_GREY, MAX_COLOURED = 600, 1500 -- points of a panel; the file has all points
local INSIDE_SHARE = 0.99 -- share of the fitted points that are not `outside`

-- Returns the activations at a site, a list of numbers for each channel: the activations of the tokens in `token_range`
-- of the first sequence, then of the second, and so on. Ends the analysis if a number is not finite.
local function read_points(source, file, site, length, token_range)
  local name, channels = ("n%d.%s"):format(length, site), {}
  local sequences, tokens, width = table.unpack(file.entries[name].shape)
  for c = 1, width do
    channels[c] = {}
  end
  for s = 0, sequences - 1 do
    for i, value in ipairs(source:read(file, name, (s * tokens + token_range.first) * width,
      token_range.count * width)) do
      if value - value ~= 0 then
        stop(INPUT, ("%s: activations at %s, length %d: found %s; expected numbers that are finite"):format(
          source.run.dir, site, length, value))
      end
      table.insert(channels[(i - 1) % width + 1], value)
    end
  end
  return channels
end

-- Returns the tokens of a sequence that are analyzed, { first (from 0), count }.
local function find_token_range(source, file, length, options)
  local tokens = source:get_shape(file, length, "tokens", options.sequences)[2]
  local inputs, outputs = source:count_parts(length, tokens)
  return options.part == "input" and { first = 0, count = inputs } or { first = tokens - outputs, count = outputs }
end

-- Returns for each point its squared distance from the centre of the fitted points, in the plane: each squared
-- coordinate is divided by the fitted variance of its component, and the quotients are averaged over the components
-- that vary. The average of these distances over the fitted points is 1.
local function compute_squared_distances(coordinates, fitted)
  return lists.map(coordinates[1], function(_, i)
    return statistics.mean(lists.map(coordinates, function(values, k)
      return fitted.variance[k] > 0 and values[i] ^ 2 / fitted.variance[k] or nil
    end)) or 1.0
  end)
end

-- Returns { site, fitted (pca.lua), lengths }; lengths has for each length a table:
--   length                   the length
--   x, y                     lists of the points' coordinates
--   first, count             the tokens of a sequence (find_token_range)
--   drift, outside, spread   numbers that the caption of tabulate explains
local function analyze_site(source, file, site, options, token_ranges)
  local result, max_inside = { site = site, lengths = {} }, nil
  for i, length in ipairs(options.lengths) do
    local points = read_points(source, file, site, length, token_ranges[i])
    local fitted = result.fitted or pca.fit(points, 2)
    local coordinates, spread = pca.project(fitted, points)
    local squares = compute_squared_distances(coordinates, fitted)
    result.fitted, max_inside = fitted, max_inside or statistics.quantile(squares, INSIDE_SHARE)
    result.lengths[i] = { length = length, x = coordinates[1], y = coordinates[2], count = token_ranges[i].count,
      first = token_ranges[i].first, drift = statistics.mean(squares),
      outside = statistics.share_above(squares, max_inside),
      spread = fitted.total > 0 and spread / fitted.total or 1 }
  end
  return result
end

-- Analyzes one run. Returns { label, sites (from analyze_site), accuracy (by length) }.
local function analyze(source, options)
  local file = source:trace("activations", { "--lengths", table.concat(options.lengths, ","), "--examples",
    options.sequences })
  local token_ranges = lists.map(options.lengths, function(length) return find_token_range(source, file, length,
    options) end)
  local shared_sites = lists.filter(source:list_sites(file, options.lengths[1], "activations"), function(site)
    return not lists.any(options.lengths, function(length)
      return not file.entries[("n%d.%s"):format(length, site)] -- shorter sequences may run fewer passes
    end)
  end)
  local sites = lists.map(shared_sites, function(site)
    return analyze_site(source, file, site, options, token_ranges)
  end)
  return { label = source.label, sites = sites, accuracy = source:measure_accuracy(options.lengths, options.sequences) }
end

local function format_six_digits(value)
  return ("%.6g"):format(value)
end

local function compute_explained_share(site, component)
  return site.fitted.total > 0 and site.fitted.variance[component] / site.fitted.total or 0
end

-- Returns the lines of summary.csv and of pca.csv.
local function make_csv_lines(results)
  local summary, points = {}, {}
  for result, site in lists.iterate_nested(results, "sites") do
    for _, entry in ipairs(site.lengths) do
      local line = { run = result.label, site = site.site, length = entry.length }
      lists.append(points, lists.map(entry.x, function(x, i)
        return { line = line, sequence = (i - 1) // entry.count + 1, position = entry.first + (i - 1) % entry.count,
          pc1 = format_six_digits(x), pc2 = format_six_digits(entry.y[i]) }
      end))
      for name, value in pairs({ accuracy = result.accuracy[entry.length],
        explained1 = compute_explained_share(site, 1),
        explained2 = compute_explained_share(site, 2), drift = entry.drift, outside = entry.outside,
        spread = entry.spread }) do
        line[name] = format_six_digits(value)
      end
      summary[#summary + 1] = line
    end
  end
  return summary, points
end

-- Makes a table of the lines of summary.csv, without the lines of the first length, at which drift and spread are 1.
local function tabulate(summary, options)
  return sheets.tabulate({ name = "pca", title = ("Activations in the principal components of length %d"):format(
    options.lengths[1]), caption = ("of the %s tokens; explained: shares of the two components; drift: mean squared "
    .. "distance from the fitted mean in the plane, 1 at length %d; outside: share of points farther from the mean "
    .. "than %.0f%% of the fitted points; spread: as drift, over all channels"):format(options.part, options.lengths[1],
    100 * INSIDE_SHARE), heads = { "site", "length", "accuracy", "explained", "", "drift", "outside", "spread" },
    rows = lists.map(summary, function(line)
      return line.length ~= options.lengths[1] and { ("%s, %s"):format(line.run, line.site),
        ("%d"):format(line.length), ("%.4f"):format(line.accuracy), ("%.1f%%"):format(100 * line.explained1),
        ("%.1f%%"):format(100 * line.explained2), ("%.3f"):format(line.drift), ("%.1f%%"):format(100 * line.outside),
        ("%.3f"):format(line.spread) } or nil
    end) })
end

-- Returns a block of data, lines "x y position", of at most `max_points` points, evenly chosen. result: an entry of
-- site.lengths.
local function make_block(result, max_points)
  local lines = {}
  for i = 1, #result.x, math.max(1, (#result.x + max_points - 1) // max_points) do
    lines[#lines + 1] = ("%.5g %.5g %d"):format(result.x[i], result.y[i], result.first + (i - 1) % result.count)
  end
  return lines
end

-- Returns the gnuplot lines of an axis for lists of numbers; is_flat: whether all numbers are 0.
local function format_axis(letter, is_flat, numbers)
  return is_flat and ("set %srange [-1:1]\nset %stics 1"):format(letter, letter) or scales.fit_axis(letter, numbers)
end

-- Makes the panel of a site at a length. result: an entry of site.lengths; is_last: whether the panel is the last of a
-- row, which shows the colours' scale.
local function make_panel(site, result, is_last)
  local layer = site.site:match("%d+")
  local first = site.lengths[1]
  return { title = ("%s, drift %.2f"):format(layer and "layer " .. layer + 1 or site.site, result.drift),
    layers = {
      { make_block(first, MAX_GREY), "using 1:2 with points pt 7 ps 0.35 lc rgb '#c8c8c8'" },
      { make_block(result, MAX_COLOURED), "using 1:2:3 with points pt 7 ps 0.25 lc palette" },
    }, lines = {
      format_axis("x", site.fitted.variance[1] == 0, { first.x, result.x }),
      format_axis("y", site.fitted.variance[2] == 0, { first.y, result.y }),
      is_last and "set colorbox" or "unset colorbox",
      ("set cbrange [%d:%d]"):format(result.first, result.first + math.max(1, result.count - 1)),
    } }
end

local SETTINGS = lists.join(scatter.SETTINGS, {
  "set colorbox user origin graph 1.08, graph 0 size graph 0.06, graph 1", "set cblabel 'token' offset -1,0 font ',9'",
})

-- Returns rows of panels: for each run and each length after the first, a panel for each site.
local function draw_rows(results, lengths)
  return lists.collect(results, function(result)
    local function describe(length)
      return ("length %d, accuracy %.3f"):format(length, result.accuracy[length])
    end
    return lists.map({ table.unpack(lengths, 2) }, function(length, i)
      local row = { label = ("%s: %s; grey: %s"):format(result.label, describe(length), describe(lengths[1])) }
      return lists.append(row, lists.map(result.sites, function(site, s)
        return make_panel(site, site.lengths[i + 1], s == #result.sites)
      end))
    end)
  end)
end

function M.run(sources, options)
  local results = lists.map(sources, function(source) return analyze(source, options) end)
  local summary, points = make_csv_lines(results)
  return { sheets.to_csv("pca.csv", "run=line.run site=line.site length=line.length sequence position pc1 pc2", points),
    sheets.to_csv("summary.csv", "run site length accuracy explained1 explained2 drift outside spread", summary),
    tables = { tabulate(summary, options) },
    picture = { title = ("Activations of the %s tokens: principal components of length %d"):format(options.part,
      options.lengths[1]), note = "grey: points of the fit; colours: other sequences, by token", panel_height = 190,
      settings = SETTINGS, rows = draw_rows(results, options.lengths) } }
end

return M
