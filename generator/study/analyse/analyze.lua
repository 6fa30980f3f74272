-- Analyses of trained runs: what their trainers trace, or what their evaluations say, becomes numbers, tables and
-- pictures.
--
-- Input: { project, what, runs, out, seed, say } and the options of the analysis: see cli.lua; say prints a line. runs
-- is a folder of runs, or of traces a list of runs. Of traces also { lengths, trainer, provide }: provide builds a spec
-- and returns its folder. Output: an exit code and, where it is not 0, a message; the files are in `out`. Temporary
-- files are removed.

local beside = require("study.report.beside")
local draw = require("study.report.draw")
local input = require("base.input")
local open = require("study.report.open")
local run_files = require("study.read.run_files")
local shell = require("base.shell")
local tensors = require("study.read.tensors")
local trained = require("study.read.trained")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

local traces = { attention = require("study.analyse.analyze_attention"), pca = require("study.analyse.analyze_pca") }

-- run(study, options) gives files; or nil and a message. Third comes what is damaged and was left out, or nil; fourth,
-- where there are no files, the exit code where that is not 1.
local studies = { compare = require("study.analyse.analyze_compare"), tables = require("study.analyse.analyze_tables") }

-- What an analysis of traces may ask of one run; errors end the analysis (error with { code, text }).
local Source = {}
Source.__index = Source

local function stop(code, text)
  error({ code = code, text = text }, 0)
end

function Source:call(verb, words)
  table.insert(words, 1, verb)
  table.insert(words, 1, self.trainer)
  local log = self.folder .. "/log"
  local code = shell.run(words, { output = log, errors_too = true })
  if code ~= 0 then
    stop(code, ("%s: trainer %s failed:\n%s"):format(self.run.dir, verb, write.read(log) or ""))
  end
  return write.read(log)
end

-- Tokens of an example's input and output. Of finite data a length is that of the input.
function Source:parts(length, tokens)
  if self.run.info.data then
    return length, tokens - length
  end
  local example = input.decode(self:call("sample", { "--length", length, "--count", 1, "--seed", self.seed }))
  return #example.input, #example.target
end

-- An open file of `trainer trace` of the first `count` examples of each length, their tokens among the tensors.
function Source:trace(kinds, lengths, count)
  local path = self.folder .. "/trace.safetensors"
  self:call("trace", { "--checkpoint", self.run.checkpoint, "--what", kinds, "--seed", self.seed, "--out", path,
    "--lengths", table.concat(lengths, ","), "--examples", count })
  local file, message = tensors.open(path)
  return file or stop(1, message)
end

-- Elements of a traced tensor; first and count as tensors.read has them.
function Source.read(_, file, name, first, count)
  local values, message = tensors.read(file, name, first, count)
  return values or stop(1, message)
end

local function differ(source, length)
  stop(1, ("%s: the examples of length %d differ in their outputs, and cannot stand side by side"):format(
    source.run.dir, length))
end

-- Names of what was traced of a length, as tensors.sites has them.
function Source:sites(file, length, kind)
  local list = tensors.sites(file, length, kind)
  return #list > 0 and list or differ(self, length)
end

-- The shape of a traced tensor whose name ends so: of the right length, and with `count` examples.
function Source:shape(file, length, ending, count)
  local entry = file.entries[("n%d.%s"):format(length, ending)]
  if not entry then
    differ(self, length)
  elseif entry.shape[1] < count then
    stop(1, ("%s: length %d has %s; expected at least %d"):format(self.run.dir, length,
      wording.count(entry.shape[1], "example"), count))
  end
  return entry.shape
end

-- Token accuracy on the first `count` examples of each length, under the one draw that a trace of them sees.
function Source:accuracy(lengths, count)
  local out = self.folder .. "/eval"
  write.remove_tree(out)
  self:call("eval", { "--checkpoint", self.run.checkpoint, "--lengths", table.concat(lengths, ","), "--examples", count,
    "--draws", 1, "--seed", self.seed, "--out", out })
  local accuracy = {}
  local damage = run_files.evaluations(out, {}, function(row)
    accuracy[row.length] = row.accuracy
  end)
  return damage and stop(1, damage) or accuracy
end

local function open_all(options, folder)
  local sources, runs = {}, {}
  for i, path in ipairs(options.runs) do
    local run, message = trained.open(path)
    if not run then
      stop(1, message)
    end
    runs[i] = run
  end
  local labels = trained.labels(runs)
  for i, run in ipairs(runs) do
    local trainer, code, message = trained.trainer(options.project, run, options.trainer, options.provide)
    if not trainer then
      stop(code, message)
    end
    sources[i] = setmetatable({ run = run, label = labels[i], trainer = trainer, folder = folder, seed = options.seed },
      Source)
  end
  return sources
end

-- Writes the files of an analysis with its picture, and says so. damage: what had to be left out, or nil.
local function finish(options, out, files, damage)
  local names = {}
  for i, file in ipairs(files) do
    names[i] = file.path
  end
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

-- What is said of a study is kept, too: reports show it.
local function listen(options)
  local say, said = options.say, {}
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
  local folder, message = shell.temporary()
  if not folder then
    return 4, message
  end
  local ok, problem = xpcall(analyse, function(err)
    return type(err) == "table" and err or { bug = debug.traceback(err) }
  end, options, folder)
  write.remove_tree(folder)
  if not ok and problem.bug then
    error(problem.bug, 0)
  end
  return ok and 0 or problem.code, not ok and problem.text or nil
end

return M
