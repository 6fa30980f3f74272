-- Accuracy of a study's models with noise on their embeddings (docs/analyses.md).
--
-- Input: a study with the results of its cells (cells.lua), and { project, provide, folder, study, split, length,
-- examples, draws, seed, noise, relative, axis, say }: noise is a list of standard deviations. Output: as in
-- analyze.lua, with the file noise.csv (a run and a deviation per line). Errors of trainers end the analysis: see
-- source.lua.

local colours = require("lab.study.report.figures.colours")
local curves = require("lab.study.report.figures.curves")
local cell_groups = require("lab.study.analyze.cell_groups")
local lists = require("base.lists")
local seed_curves = require("lab.study.report.figures.seed_curves")
local sheets = require("lab.study.analyze.sheets")
local source = require("lab.study.analyze.source")
local stop = require("lab.stop")
local wording = require("base.wording")

local M = {}

local INPUT = 1 -- exit code

-- Returns the sets along the requested axis, or along the first axis with several values; a single cell is one set.
local function choose_sets(study, options)
  local first = lists.find(study.axes, function(axis) return #axis.values > 1 end)
  local axis = options.axis or first and first.name
  return cell_groups.list_sets(study, axis and cell_groups.choose_axis(study, axis), options.split)
end

-- Evaluates the runs of a group under noise, with another trainer: its spec has the same model, and the noise. Sets
-- two fields of the group:
--   by_run        for each run, its lines of noise.csv, one for each deviation
--   has_dropout   whether evaluation applies dropout
local function evaluate(group, options)
  local deviations = lists.map(options.noise, function(deviation) return ("%.17g"):format(deviation) end)
  local opened = source.open_group(group, options, {
    "eval.by.noise={ list = { " .. table.concat(deviations, ", ") .. " } }", "eval.noise=" .. options.mode })
  group.has_dropout = opened.run.info.spec.eval.dropout == true
  group.by_run = lists.map(group.runs, function(run)
    local rows = opened:evaluate(lists.append(opened:choose_run(run, options, "--splits"), { "--draws",
      options.draws }))
    return lists.map(options.noise, function(deviation)
      local row = lists.find(rows, function(entry) return entry.by and entry.by.noise == deviation end)
      stop.must(INPUT, row, ("%s: it has no accuracy under noise %g"):format(run.dir, deviation))
      return { group = group, run = run, options = options, noise = deviation, accuracy = row.accuracy,
        draws = deviation > 0 and options.draws or 1, sd_over_draws = row.sd_over_draws }
    end)
  end)
  options.say(("%s: %s evaluated"):format(group.name, wording.count(#group.runs, "run")))
end

-- Returns the accuracies of a group's runs under deviation number i, in percent.
local function list_percents(group, i)
  return lists.map(group.by_run, function(list) return 100 * list[i].accuracy end)
end

local function describe_deviations(options)
  return options.relative and "times the root mean square of each token's embedding" or "absolute"
end

local function tabulate_accuracy(set, options, number, notes)
  local rows = lists.map(set.groups, function(group)
    notes[#notes + 1] = group.has_dropout and ("%s: evaluation applies dropout, as set in its spec"):format(group.name)
      or nil
    return lists.join({ group.name, ("%d"):format(#group.runs) }, lists.map(options.noise, function(_, i)
      return sheets.format_mean("%.1f", list_percents(group, i))
    end))
  end)
  local set_title = set.name ~= "" and ", " .. set.name or ""
  return sheets.tabulate({ name = "noise-" .. number, title = "Accuracy in percent by noise on embeddings" .. set_title,
    caption = ("length %d, %s; columns: standard deviations, %s; mean ± sd (n - 1) over seeds, each the mean "
    .. "of %d draws"):format(options.length, options.split, describe_deviations(options), options.draws),
    heads = lists.join({ "cell", "seeds" }, lists.map(options.noise,
    function(deviation) return ("%g"):format(deviation) end)), rows = rows, notes = notes })
end

local function make_picture(sets, options)
  local names = lists.drop_repeats(lists.get_names(cell_groups.list_groups(sets)))
  local styles, from, to = colours.choose_styles_along(names), options.noise[1], options.noise[#options.noise]
  local drawn_panels = lists.map(sets, function(set)
    local panel = { title = set.name, xlabel = "noise on embeddings, " .. describe_deviations(options),
      ylabel = "accuracy", x = { from, math.max(to, from + 1e-3) }, y = { 0, 100 }, percent = true, curves = {} }
    for _, group in ipairs(set.groups) do
      local curves_by_run = lists.map(group.by_run, function(by_noise)
        return lists.map(by_noise, function(line) return { line.noise, 100 * line.accuracy } end)
      end)
      seed_curves.add_curves(panel, curves_by_run, styles[group.name], group.name,
        { mean = seed_curves.average(curves_by_run) })
    end
    return panel
  end)
  return curves.make_script({ name = "noise", panels = drawn_panels, legend = lists.map(names, function(name)
    return { title = name, style = styles[name] }
  end) })
end

function M.run(study, options)
  local sets, notes = cell_groups.drop_unscored(choose_sets(study, options), options.split)
  local lines = {}
  options.mode = options.relative and "relative" or "absolute"
  for _, group in ipairs(cell_groups.list_groups(sets)) do
    evaluate(group, options)
    lists.append(lines, lists.collect(group.by_run, function(run_lines) return run_lines end))
  end
  return { sheets.to_csv("noise.csv",
    "set=group.set.name cell=group.name seed=run.seed learning_rate=run.learning_rate "
    .. "mode=options.mode noise draws accuracy sd_over_draws", lines), picture = make_picture(sets, options),
    tables = lists.map(sets, function(set, i)
      return tabulate_accuracy(set, options, i, i == #sets and notes or {})
    end) }
end

return M
