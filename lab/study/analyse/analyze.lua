-- Analyses of trained runs: what their trainers trace, or what their evaluations say, becomes numbers, tables and
-- pictures.
--
-- Input: { project, what, runs, out, seed, say } and the options of the analysis: see cli.lua; say prints a line. runs
-- is a folder of runs, or of traces a list of runs. Of traces also { lengths, trainer, spec, provide }: provide builds
-- a spec and returns its folder. Output: an exit code and, where it is not 0, a message; the files are in `out`.
-- Temporary files are removed.

local beside = require("lab.study.report.page.beside")
local draw = require("lab.study.report.figures.draw")
local lists = require("base.lists")
local open = require("lab.study.report.open")
local source = require("lab.study.analyse.source")
local trained = require("lab.study.read.trained")
local write = require("base.write")

local M = {}

local stop = source.stop

local traces = { attention = require("lab.study.analyse.analyze_attention"),
  decoding = require("lab.study.analyse.analyze_decoding"), pca = require("lab.study.analyse.analyze_pca") }

-- run(study, options) gives files; or nil and a message. Third comes what is damaged and was left out, or nil; fourth,
-- where there are no files, the exit code where that is not 1.
local studies = {
  compare = require("lab.study.analyse.analyze_compare"), human = require("lab.study.analyse.analyze_human"),
  noise = require("lab.study.analyse.analyze_noise"),
  similarity = require("lab.study.analyse.analyze_similarity"),
  tables = require("lab.study.analyse.analyze_tables"),
}

local function open_all(options, folder)
  local sources, runs = {}, {}
  for i, path in ipairs(options.runs) do
    local run, message = trained.open(path)
    runs[i] = run or stop(1, message)
  end
  local labels = trained.labels(runs)
  for i, run in ipairs(runs) do
    sources[i] = source.open(run, { project = options.project, trainer = options.trainer, provide = options.provide,
      spec = options.spec, seed = options.seed, folder = folder, label = labels[i] })
  end
  return sources
end

-- Writes the files of an analysis with its picture, and says so. damage: what had to be left out, or nil.
local function finish(options, out, files, damage)
  local names = lists.map(files, function(file) return file.path end)
  local _, problem, drawn = draw.run(files, { options.what })
  local written, message = write.files(out, table.move(drawn, 1, #drawn, #files + 1, files))
  if not written or problem then
    message = message or problem
    stop(4, damage and message .. "\n" .. damage or message)
  end
  options.say(("%s: %s.svg, %s.png, %s"):format(out, options.what, options.what, table.concat(names, ", ")))
  if damage then
    stop(1, damage)
  end
end

local function analyse_traces(options, folder)
  local sources = open_all(options, folder)
  local out, message = trained.folder(sources[1].run, options.out, options.what)
  if not out then
    stop(1, message)
  end
  finish(options, out, traces[options.what].run(sources, options))
end

-- What is said of a study is kept, too: reports show it. What tells progress is not.
local function listen(options)
  local say, said = options.say, {}
  options.progress = say
  function options.say(text)
    said[#said + 1] = text
    say(text)
  end
  return said
end

local function analyse_study(options, folder)
  local study, message = open.study(options, "")
  if not study then
    stop(1, message)
  end
  local said = listen(options)
  options.folder = folder
  local files, problem, damage, code = studies[options.what].run(study, options)
  if not files then
    stop(code or 1, problem)
  end
  files[#files + 1] = { path = options.what .. ".txt", text = table.concat(said, "\n") .. "\n" }
  local out = options.out
  if not out then
    out, message = write.below(options.runs, beside.folder(options.what, study.name))
  end
  if not out then
    stop(1, message)
  end
  finish(options, out, files, damage)
end

local function analyse(options, folder)
  return (traces[options.what] and analyse_traces or analyse_study)(options, folder)
end

function M.run(options)
  return source.in_folder(analyse, options)
end

return M
