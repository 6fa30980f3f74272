-- A trained run for analyses: its trainer, its traces, its evaluations.
--
-- Input of M.open: a run from trained_run.open, and options:
--   project   the project
--   trainer   the trainer that the user names, or nil
--   provide(spec, sets)   builds a trainer (lab/verbs.lua)
--   seed      the seed of examples and samples
--   folder    a folder for temporary files
--   label     the run's name in texts
--   sets      settings of the spec for the trainer, or nil
--   spec      the path of the run's spec if the user names it, or nil
--   cell      the name of a study's cell that has the run's spec, or nil
-- Output: a source { run, label, trainer (a path), files (flags that name data files), folder, seed } with the methods
-- below. An error ends the analysis (lab/stop.lua).

local input = require("base.input")
local lfs = require("lfs")
local lists = require("base.lists")
local run_files = require("lab.study.read.run_files")
local shell = require("base.shell")
local stops = require("lab.stop")
local safetensors = require("base.safetensors")
local trace_sites = require("lab.study.read.trace_sites")
local trained_run = require("lab.study.read.trained_run")
local wording = require("base.wording")
local write = require("base.write")

local M = {}

local INPUT, ENVIRONMENT = 1, 4 -- exit codes
local must, stop = stops.must, stops.exit

local Source = {}
Source.__index = Source

-- Runs a verb of the trainer with these flags. Returns what the trainer prints.
function Source:call(verb, words)
  local log = self.folder .. "/log"
  local code = shell.run(lists.append(lists.join({ self.trainer, verb }, words), self.files),
    { output = log, errors_too = true })
  if code ~= 0 then
    stop(code, ("%s: trainer %s failed:\n%s"):format(self.run.dir, verb, write.read(log) or ""))
  end
  return write.read(log)
end

-- Returns the number of input tokens and the number of output tokens of an example. tokens: the sum of both numbers;
-- length: the task length, for dataset files the number of input tokens.
function Source:count_parts(length, tokens)
  if self.run.info.data then
    local readout = self.run.info.spec.model.readout
    return length, readout == "in_place" and length or readout == "last" and 1 or tokens - length
  end
  local example = input.decode(self:call("sample", { "--length", length, "--count", 1, "--seed", self.seed }))
  return #example.input, #example.target
end

-- Traces tokens and values of these kinds (`trainer trace --what`), with further flags `words`. options: nil, or
-- { path, checkpoint }, the path of the trace and of the model, each nil for the default. Returns the opened trace
-- (safetensors.lua).
function Source:trace(kinds, words, options)
  local path = options and options.path or self.folder .. "/trace.safetensors"
  self:call("trace", lists.append({ "--checkpoint", options and options.checkpoint or self.run.checkpoint, "--what",
    kinds, "--seed", self.seed, "--out", path }, words))
  return must(INPUT, safetensors.open(path))
end

-- Returns elements of a traced tensor as a flat list. first, count: the range of elements (safetensors.read).
function Source.read(_, file, name, first, count)
  return (must(INPUT, safetensors.read(file, name, first, count)))
end

local function stop_for_lengths(source, length)
  stop(INPUT, ("%s: examples of length %d have outputs of different lengths; expected equal lengths"):format(
    source.run.dir, length))
end

-- Returns the names of the sites in a trace that have this kind of values at this length (trace_sites.lua).
function Source:list_sites(file, length, kind)
  local list = trace_sites(file, length, kind)
  return #list > 0 and list or stop_for_lengths(self, length)
end

-- Returns the shape of the tensor of this length whose name has this ending; at least `count` examples are required.
function Source:get_shape(file, length, ending, count)
  local entry = file.entries[("n%d.%s"):format(length, ending)]
  if not entry then
    stop_for_lengths(self, length)
  elseif entry.shape[1] < count then
    stop(INPUT, ("%s: length %d has %s; expected at least %d"):format(self.run.dir, length,
      wording.count(entry.shape[1], "example"), count))
  end
  return entry.shape
end

-- Evaluates the checkpoint with these flags. Returns the rows of eval.jsonl (run_files.lua).
function Source:evaluate(words)
  local out, rows = self.folder .. "/eval", {}
  write.remove_tree(out)
  self:call("eval", lists.append({ "--checkpoint", self.run.checkpoint, "--seed", self.seed, "--out", out }, words))
  local damage = run_files.read_evaluations(out, {}, function(row) rows[#rows + 1] = row end)
  return damage and stop(INPUT, damage) or rows
end

-- Returns, by length, the token accuracy on the first `count` examples, with the same random positions as in a trace of
-- these examples.
function Source:measure_accuracy(lengths, count)
  local accuracy = {}
  for _, row in ipairs(self:evaluate({ "--lengths", table.concat(lengths, ","), "--examples", count, "--draws", 1 })) do
    accuracy[row.length] = row.accuracy
  end
  return accuracy
end

-- Returns the path of the run's checkpoint before step 1: the stored checkpoint, or an equal one made from the seed.
function Source:find_untrained()
  local stored_path = self.run.dir .. "/checkpoint-0.safetensors"
  if lfs.attributes(stored_path, "mode") == "file" then
    return stored_path
  end
  local out, info = self.folder .. "/untrained", self.run.info
  for _, flag in ipairs(info.flags) do
    if flag:find("^%-%-init") then
      stop(INPUT, ("%s: it started from another model's parameters (--init)\n  expected: checkpoint-0.safetensors, "
        .. "which train.checkpoint.keep = { 0 } keeps; or --trained-only"):format(self.run.dir))
    end
  end
  write.remove_tree(out)
  self:call("train", { "--out", out, "--steps", 0, "--seed", info.seed, "--learning-rate", info.learning_rate,
    "--threads", 1, "--no-eval" })
  return (run_files.find(out)[1] or out) .. "/checkpoint.safetensors"
end

-- Returns the element-wise maximum of one example's attention over heads, as a row-major list.
--   values         the weights of the example
--   shape          the tensor's shape { examples, heads, queries, keys }
--   first, last    the heads, counted from 1
--   rows, columns  the number of queries and of keys in the result, from the first on
function M.take_maximum(values, shape, first, last, rows, columns)
  local out, queries, keys = {}, shape[3], shape[4]
  for query = 0, rows - 1 do
    for key = 1, columns do
      local max_weight = 0.0
      for head = first - 1, last - 1 do
        max_weight = math.max(max_weight, values[(head * queries + query) * keys + key])
      end
      out[#out + 1] = max_weight
    end
  end
  return out
end

-- Replaces the source's run by `run`, another run of its group. Returns the trainer's flags that choose examples.
-- options: { length, examples, split }. flag: the trainer's flag for the split, --split or --splits; only runs on files
-- of examples get this flag.
function Source:choose_run(run, options, flag)
  self.run = M.open_run(run.dir)
  return lists.append({ "--lengths", options.length, "--examples", options.examples },
    self.run.info.data and { flag, options.split } or {})
end

function M.open_run(path)
  return (must(INPUT, trained_run.open(path)))
end

-- Opens a source, as the head of this file describes.
function M.open(run, options)
  local trainer, files
  if options.cell then
    local dir, code
    dir, code, files = options.provide(options.cell, options.sets)
    must(code, dir, ("%s: its trainer cannot be built from %s"):format(run.dir, options.cell))
    trainer = trained_run.get_trainer_path(dir)
  else
    trainer = trained_run.find_trainer(options.project, run, options.trainer, options.provide, options.sets,
      options.spec)
  end
  return setmetatable({ run = run, label = options.label, trainer = trainer, files = files or {},
    folder = options.folder, seed = options.seed }, Source)
end

-- Opens a source for the runs of a group (cell_groups.lua); its run is the group's first one. sets: settings that are
-- added to the study's.
function M.open_group(group, options, sets)
  local study = options.study
  local cell = not study.is_from_folder and ("%s:%s%s"):format(study.path, study.scale and study.scale .. ":" or "",
    group.cell.id) or nil
  sets = cell and lists.join(sets, study.set or {}) or sets
  return M.open(M.open_run(group.runs[1].dir), lists.merge(options, { cell = cell, sets = #sets > 0 and sets or nil }))
end

-- Returns the path of a program of runtime/tools, for computations that take too long in Lua; compiles the program if
-- it is missing or old. need: for the message of a failure, { what (the program in words), expected (a text) }.
function M.build_tool(project, folder, name, need)
  local log, path = folder .. "/make.log", project:get_build_path("tools/" .. name)
  local code = shell.run(shell.make_command(project.root, project:get_build_setting(),
    project:get_build_goal("tools/" .. name)), { output = log, errors_too = true })
  if code ~= 0 then
    stop(ENVIRONMENT, ("%s, which this analysis needs, cannot be built:\n%s  expected: %s"):format(need.what,
      write.read(log) or "", need.expected))
  end
  return path
end

-- Calls work(options, folder) with a temporary folder, then removes the folder. Returns the results of stop.catch.
function M.call_in_folder(work, options)
  local folder, message = shell.make_temporary_folder()
  if not folder then
    return 4, message
  end
  local _ <close> = setmetatable({}, { __close = function() write.remove_tree(folder) end })
  return stops.catch(work, options, folder)
end

return M
