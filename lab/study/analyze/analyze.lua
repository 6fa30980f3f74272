-- The verb `analyze`: numbers, tables and pictures from traces or evaluations of trained runs.
--
-- Input: { project, what, runs, out, seed, say } and the options of the analysis: see cli.lua; say prints a line. runs
-- is a folder of runs, or, for analyses of traces, a list of runs. These analyses also take { lengths, trainer, spec,
-- provide }: provide builds a spec and returns its folder. Output: an exit code and, if it is not 0, a message; the
-- files are in `out`. Temporary files are removed.

local study_analyses = require("lab.study.report.page.study_analyses")
local draw = require("lab.study.report.figures.draw")
local lists = require("base.lists")
local open_study = require("lab.study.report.open_study")
local sheets = require("lab.study.analyze.sheets")
local source = require("lab.study.analyze.source")
local stop = require("lab.stop")
local trained_run = require("lab.study.read.trained_run")
local write = require("base.write")

local M = {}

local must = stop.must

local traces = { attention = require("lab.study.analyze.analyze_attention"),
  decoding = require("lab.study.analyze.analyze_decoding"), pca = require("lab.study.analyze.analyze_pca") }

-- run(study, options) returns files and, in `tables`, tables and texts to show. Its options also have `folder`, for
-- temporary files, and `study`.
local studies = {
  compare = require("lab.study.analyze.analyze_compare"), human = require("lab.study.analyze.analyze_human"),
  noise = require("lab.study.analyze.analyze_noise"),
  similarity = require("lab.study.analyze.analyze_similarity"),
  tables = require("lab.study.analyze.analyze_tables"),
}

local function open_all(options, folder)
  local runs = lists.map(options.runs, source.run)
  local labels = trained_run.labels(runs)
  return lists.map(runs, function(run, i)
    return source.open(run, { project = options.project, trainer = options.trainer, provide = options.provide,
      spec = options.spec, seed = options.seed, folder = folder, label = labels[i] })
  end)
end

-- Writes and reports the files of an analysis and its picture.
local function finish(options, out, files)
  local names = lists.map(files, function(file) return file.path end)
  local problem = draw.add(files, { options.what })
  must(4, write.files(out, files))
  must(4, not problem, problem)
  options.say(("%s: %s.svg, .pdf and .png, %s"):format(out, options.what, table.concat(names, ", ")))
end

local function analyze_traces(options, folder)
  local sources = open_all(options, folder)
  local out = must(1, write.below(sources[1].run.dir, options.what, options.out))
  finish(options, out, traces[options.what].run(sources, options))
end

-- Runs an analysis of a study; shows its tables and texts and stores them in a file for reports.
local function analyze_study(options, folder)
  local study = must(1, open_study.study(options, ""))
  options.folder, options.study, options.damage = folder, study, sheets.damage(study)
  local result = studies[options.what].run(study, options)
  local said = lists.map(result.tables, function(part) return type(part) == "string" and part or sheets.shown(part) end)
  for _, text in ipairs(said) do
    options.say(text)
  end
  lists.append(result, { { path = options.what .. ".txt", text = table.concat(said, "\n") .. "\n" } })
  finish(options, must(1, write.below(options.runs, study_analyses.folder(options.what, study.name), options.out)),
    result)
end

local function analyze(options, folder)
  return (traces[options.what] and analyze_traces or analyze_study)(options, folder)
end

function M.run(options)
  local code, message = source.in_folder(analyze, options)
  if options.damage then
    return code ~= 0 and code or 1, message and message .. "\n" .. options.damage or options.damage
  end
  return code, message
end

return M
