-- How accuracy falls as the embeddings of a study's models get noise (docs/analyses.md).
--
-- Input: a study with its cells read, and the options of noise.lua with `axis` and `say`. Output: the files noise.csv
-- (a run and a deviation per line), noise.gnuplot; or nil and a message. Third, what is damaged and was left out, or
-- nil.

local colours = require("lab.study.report.figures.colours")
local curves = require("lab.study.report.figures.curves")
local groups_module = require("lab.study.analyse.groups")
local lists = require("base.lists")
local noise = require("lab.study.analyse.noise")
local sheets = require("lab.study.analyse.sheets")
local statistics = require("lab.study.read.statistics")

local M = {}

local line, number, texts = sheets.line, sheets.number, sheets.texts

-- The axis asked for, else the first that has several values; nil where there is a single cell.
local function axis_of(study, wanted)
  for _, axis in ipairs(study.axes) do
    if not wanted and #axis.values > 1 then
      return axis.name
    end
  end
  if wanted then
    return groups_module.axis(study, wanted)
  end
end

-- Sets of groups that have runs, and all their groups; or nil and a message.
local function chosen(study, options)
  local axis, message = axis_of(study, options.axis)
  if not axis and message then
    return nil, message
  end
  local sets, all, notes = {}, {}, {}
  for _, set in ipairs(axis and groups_module.sets(study, axis, options.split)
    or { { name = "", groups = groups_module.all(study, options.split) } }) do
    local groups = {}
    for _, group in ipairs(set.groups) do
      groups[#groups + 1] = #group.runs > 0 and group or nil
      if #group.runs < group.asked then
        notes[#notes + 1] = ("%s: %d of %d seeds have a score"):format(groups_module.title(set, group), #group.runs,
          group.asked)
      end
    end
    sets[#sets + 1] = #groups > 0 and { name = set.name, groups = groups } or nil
    table.move(groups, 1, #groups, #all + 1, all)
  end
  if #all == 0 then
    return nil, ("no run has a score on %s\n  expected: runs trained to the end"):format(options.split)
  end
  return sets, all, notes
end

-- Percents of all runs of a group at a deviation.
local function percents(group, i)
  return lists.map(group.by_run, function(list) return 100 * list[i].accuracy end)
end

local function deviation_text(options)
  return options.relative and "times the root mean square of each token's embedding" or "absolute"
end

local function accuracy_table(set, options, notes)
  local rows, titles = {}, { "seeds" }
  for i, deviation in ipairs(options.noise) do
    titles[i + 1] = ("%g"):format(deviation)
  end
  for r, group in ipairs(set.groups) do
    local row = { ("%d"):format(#group.runs) }
    for i in ipairs(options.noise) do
      local values = percents(group, i)
      local sd = statistics.sd(values)
      row[i + 1] = number("%.1f", statistics.mean(values)) .. (sd and (" ± %.1f"):format(sd) or "")
    end
    rows[r] = { title = group.name, cells = texts(table.unpack(row)) }
    notes[#notes + 1] = group.drops and ("%s: evaluation drops out, too, as its spec says"):format(group.name) or nil
  end
  return { name = "noise", title = "Accuracy in percent by noise on embeddings" .. (set.name ~= "" and ", " .. set.name
    or ""), about = ("length %d, %s; standard deviations, %s; mean ± sd (n - 1) over seeds, each the mean of %d draws")
    :format(options.length, options.split, deviation_text(options), options.draws), corner = "cell", subs = { "" },
    columns = sheets.columns(table.unpack(titles)), rows = rows, notes = notes }
end

local function noise_csv(sets, options)
  local lines = { "set,cell,seed,learning_rate,mode,noise,draws,accuracy,sd_over_draws" }
  for _, set in ipairs(sets) do
    for _, group in ipairs(set.groups) do
      for k, run in ipairs(group.runs) do
        for i, deviation in ipairs(options.noise) do
          local at = group.by_run[k][i]
          lines[#lines + 1] = line(set.name, group.name, run.seed, run.learning_rate,
            options.relative and "relative" or "absolute", deviation, deviation > 0 and options.draws or 1, at.accuracy,
            at.sd)
        end
      end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function points(options, value_at)
  return lists.map(options.noise, function(deviation, i) return { deviation, value_at(i) } end)
end

-- A group's mean, bold, and faint its seeds.
local function add_curves(panel, group, style, options)
  for _, by_noise in ipairs(#group.runs > 1 and group.by_run or {}) do
    panel.curves[#panel.curves + 1] = { style = style, faint = true, points = points(options, function(i)
      return 100 * by_noise[i].accuracy
    end) }
  end
  panel.curves[#panel.curves + 1] = { style = style, title = group.name, points = points(options, function(i)
    return statistics.mean(percents(group, i))
  end) }
end

local function picture(sets, options)
  local figure, names, seen = { name = "noise", panels = {}, legend = {} }, {}, {}
  for _, set in ipairs(sets) do
    for _, group in ipairs(set.groups) do
      names[#names + 1], seen[group.name] = not seen[group.name] and group.name or nil, true
    end
  end
  local styles = colours.along(names)
  for i, name in ipairs(names) do
    figure.legend[i] = { title = name, style = styles[name] }
  end
  for p, set in ipairs(sets) do
    local panel = { title = set.name, xlabel = "noise on embeddings, " .. deviation_text(options), ylabel = "accuracy",
      x = { options.noise[1], math.max(options.noise[#options.noise], options.noise[1] + 1e-3) }, y = { 0, 100 },
      percent = true, curves = {} }
    for _, group in ipairs(set.groups) do
      add_curves(panel, group, styles[group.name], options)
    end
    figure.panels[p] = panel
  end
  return curves.script(figure)
end

function M.run(study, options)
  local damage = sheets.damage(study)
  local sets, all, notes = chosen(study, options)
  if not sets then
    return nil, damage and all .. "\n" .. damage or all
  end
  options.study = study
  noise.of(all, options)
  for i, set in ipairs(sets) do
    options.say(sheets.shown(accuracy_table(set, options, i == #sets and notes or {})))
  end
  return {
    { path = "noise.csv", text = noise_csv(sets, options) },
    { path = "noise.gnuplot", text = picture(sets, options) },
  }, nil, damage
end

return M
