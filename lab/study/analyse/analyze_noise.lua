-- How accuracy falls as the embeddings of a study's models get noise (docs/analyses.md).
--
-- Input: a study with its cells read, and the options of noise.lua with `axis`. Output: what analyze.lua says, with the
-- files noise.csv (a run and a deviation per line), noise.gnuplot.

local colours = require("lab.study.report.figures.colours")
local curves = require("lab.study.report.figures.curves")
local groups_module = require("lab.study.analyse.groups")
local lists = require("base.lists")
local noise = require("lab.study.analyse.noise")
local sheets = require("lab.study.analyse.sheets")
local statistics = require("lab.study.read.statistics")

local M = {}

-- The sets along the axis asked for, else along the first that has several values; one set of all where there is a
-- single cell. Or nil and a message.
local function sets_of(study, options)
  local first = lists.find(study.axes, function(axis) return #axis.values > 1 end)
  if not first and not options.axis then
    return { { name = "", groups = groups_module.all(study, options.split) } }
  end
  local axis, message = groups_module.axis(study, options.axis or first.name)
  return axis and groups_module.sets(study, axis, options.split), message
end

-- Percents of all runs of a group at a deviation.
local function percents(group, i)
  return lists.map(group.by_run, function(list) return 100 * list[i].accuracy end)
end

local function deviation_text(options)
  return options.relative and "times the root mean square of each token's embedding" or "absolute"
end

local function accuracy_table(set, options, notes)
  local rows = lists.map(set.groups, function(group)
    notes[#notes + 1] = group.drops and ("%s: evaluation drops out, too, as its spec says"):format(group.name) or nil
    return lists.join({ group.name, ("%d"):format(#group.runs) }, lists.map(options.noise, function(_, i)
      return sheets.mean_and_sd("%.1f", percents(group, i))
    end))
  end)
  return sheets.table({ name = "noise", title = "Accuracy in percent by noise on embeddings" .. (set.name ~= "" and ", "
    .. set.name or ""), about = ("length %d, %s; standard deviations, %s; mean ± sd (n - 1) over seeds, each the mean "
    .. "of %d draws"):format(options.length, options.split, deviation_text(options), options.draws), heads = lists.join(
    { "cell", "seeds" }, lists.map(options.noise, function(deviation) return ("%g"):format(deviation) end)),
    rows = rows, notes = notes })
end

local function noise_csv(sets, options)
  local mode = options.relative and "relative" or "absolute"
  return sheets.csv("noise.csv", "set,cell,seed,learning_rate,mode,noise,draws,accuracy,sd_over_draws", function(add)
    for set, group in lists.nested(sets, "groups") do
      for k, run in ipairs(group.runs) do
        for i, deviation in ipairs(options.noise) do
          local at = group.by_run[k][i]
          add(set.name, group.name, run.seed, run.learning_rate, mode, deviation, deviation > 0 and options.draws or 1,
            at.accuracy, at.sd)
        end
      end
    end
  end)
end

-- A group's mean, bold, and faint its seeds.
local function add_curves(panel, group, style, options)
  local function add(title, value_at)
    table.insert(panel.curves, { style = style, title = title, faint = not title, points = lists.map(options.noise,
      function(deviation, i) return { deviation, value_at(i) } end) })
  end
  for _, by_noise in ipairs(#group.runs > 1 and group.by_run or {}) do
    add(nil, function(i) return 100 * by_noise[i].accuracy end)
  end
  add(group.name, function(i) return statistics.mean(percents(group, i)) end)
end

local function picture(sets, options)
  local names = {}
  for _, group in lists.nested(sets, "groups") do
    names[#names + 1] = group.name
  end
  names = lists.distinct(names)
  local styles, from, to = colours.along(names), options.noise[1], options.noise[#options.noise]
  local drawn = lists.map(sets, function(set)
    local panel = { title = set.name, xlabel = "noise on embeddings, " .. deviation_text(options), ylabel = "accuracy",
      x = { from, math.max(to, from + 1e-3) }, y = { 0, 100 }, percent = true, curves = {} }
    for _, group in ipairs(set.groups) do
      add_curves(panel, group, styles[group.name], options)
    end
    return panel
  end)
  return curves.script({ name = "noise", panels = drawn, legend = lists.map(names, function(name)
    return { title = name, style = styles[name] }
  end) })
end

function M.run(study, options)
  local sets, notes = sets_of(study, options)
  if sets then
    sets, notes = groups_module.with_runs(sets, options.split)
  end
  if not sets then
    return nil, notes
  end
  for _, set in ipairs(sets) do
    noise.of(set.groups, options)
  end
  return { noise_csv(sets, options), { path = "noise.gnuplot", text = picture(sets, options) },
    tables = lists.map(sets, function(set, i) return accuracy_table(set, options, i == #sets and notes or {}) end) }
end

return M
