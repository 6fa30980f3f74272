-- The verb `analyze`: numbers, tables and pictures from traces or evaluations of trained runs.
--
-- Input: the options { project, what (the analysis), runs, out, seed, say, provide } and the analysis's own options,
-- from the command line (lab/cli/analyses.lua) and lab/verbs.lua. runs is a folder of runs, or, for analyses of traces,
-- a list of the folders or checkpoints of runs. Output: an exit code and a message; files in the folder `out`.
--
-- An analysis is a module with run(opened, options). opened: a list of sources, which are opened runs (source.lua); or
-- a study with the results of its cells (cells.lua); or a paper's numbers (published.lua). options also have `folder`,
-- for temporary files, and, if a study is opened, `study`. The result is a list of files { path, text }, which also has
-- these fields:
--   picture   a picture of panels (panels.lua) without the field `name`, or a script of gnuplot
--   tables    nil, or a list of tables (made by sheets.lua) and texts. All items are printed and written as
--             text; the tables are also written as LaTeX

local study_analyses = require("lab.study.report.page.study_analyses")
local draw = require("lab.study.report.figures.draw")
local lists = require("base.lists")
local open_study = require("lab.study.report.open_study")
local panels = require("lab.study.report.figures.panels")
local published = require("lab.study.read.published")
local sheets = require("lab.study.analyze.sheets")
local source = require("lab.study.analyze.source")
local stop = require("lab.stop")
local trained_run = require("lab.study.read.trained_run")
local write = require("base.write")

local M = {}

local INPUT, ENVIRONMENT = 1, 4 -- exit codes
local must = stop.must

local analyses = {
  attention = require("lab.study.analyze.analyze_attention"), compare = require("lab.study.analyze.analyze_compare"),
  decoding = require("lab.study.analyze.analyze_decoding"), human = require("lab.study.analyze.analyze_human"),
  noise = require("lab.study.analyze.analyze_noise"), pca = require("lab.study.analyze.analyze_pca"),
  power = require("lab.study.analyze.analyze_power"),
  similarity = require("lab.study.analyze.analyze_similarity"), tables = require("lab.study.analyze.analyze_tables"),
}

-- Returns what the analysis opens: sources, a study or a paper's numbers; and the default parent and name of the output
-- folder. With a study, sets options.study and options.damage, a message on damaged runs or nil.
local function open(options)
  if options.published then
    must(INPUT, not options.study and not options.metric and options.split == "test",
      "--published: cannot be used with --study, --metric or --split, since no runs are read")
    return must(INPUT, published.read(options.project, options.published)), options.runs, options.what
  elseif type(options.runs) == "string" then
    local study = must(INPUT, open_study.open(options, ""))
    options.study, options.damage = study, sheets.describe_damage(study)
    return study, options.runs, study_analyses.name_folder(options.what, study.name)
  end
  local runs = lists.map(options.runs, source.open_run)
  local labels = trained_run.make_labels(runs)
  return lists.map(runs, function(run, i)
    return source.open(run, lists.merge(options, { label = labels[i] }))
  end), runs[1].dir, options.what
end

-- Runs an analysis and writes its files and pictures. folder: for temporary files.
local function analyze(options, folder)
  options.folder = folder
  local analysis, opened, parent, name = options.what, open(options)
  local out = must(INPUT, write.choose_folder(parent, name, options.out))
  local files = analyses[analysis].run(opened, options)
  local picture = type(files.picture) == "string" and files.picture
    or panels.make_script(lists.merge(files.picture, { name = analysis }))
  lists.append(files, { { path = analysis .. ".gnuplot", text = picture } })
  if files.tables then
    local texts = lists.map(files.tables, function(item)
      return type(item) == "string" and item or sheets.render(item)
    end)
    lists.map(texts, options.say)
    lists.append(files, { { path = analysis .. ".txt", text = table.concat(texts, "\n") .. "\n" },
      { path = analysis .. ".tex", text = sheets.render_latex(files.tables) } })
  end
  local names = table.concat(lists.map(files, function(file) return file.path end), ", ")
  local problem = draw.add(files, { analysis })
  must(ENVIRONMENT, write.files(out, files))
  must(ENVIRONMENT, not problem, problem)
  options.say(("%s: %s.svg, .pdf and .png, %s"):format(out, analysis, names))
end

function M.run(options)
  local code, message = source.call_in_folder(analyze, options)
  if options.damage then
    code = code ~= 0 and code or INPUT
    message = message and message .. "\n" .. options.damage or options.damage
  end
  return code, message
end

return M
