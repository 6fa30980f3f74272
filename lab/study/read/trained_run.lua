-- A trained run: its folder, its checkpoint, and its trainer and spec.
--
-- Input: a run's folder, or a checkpoint in it. M.open returns nil and a message, or a run:
--   dir          the folder
--   checkpoint   the path of the checkpoint
--   info         run.json, as run_files.lua reads it
-- M.with_spec calls a function with the planned spec of the run. M.find_trainer returns the path of a trainer of the
-- same plan digest, and builds it if there is none. Invariant: every program that is started was built here from a plan
-- of that digest, or is named by the user.

local build = require("render.builds.build")
local input = require("base.input")
local lfs = require("lfs")
local lists = require("base.lists")
local spec_writer = require("lab.study.read.spec_writer")
local run_files = require("lab.study.read.run_files")
local seeds = require("lab.study.read.seeds")
local shell = require("base.shell")
local stop = require("lab.stop")
local escape = require("base.escape")
local write = require("base.write")

local M = {}

local INPUT = 1 -- exit code

-- Opens a run by its folder or its checkpoint. The folder may have been moved and renamed.
function M.open(path)
  path = path:gsub("(.)/+$", "%1")
  local dir, checkpoint = path, path .. "/checkpoint.safetensors"
  if path:find("%.safetensors$") then
    dir, checkpoint = path:match("^(.*)/[^/]*$") or ".", path
  end
  local info, damage = run_files.read_facts(dir)
  if not info then
    return nil, ("%s/%s"):format(escape.plain(dir), damage
      or "run.json: no such file; expected the folder of a run, or a checkpoint in one")
  elseif not (info.spec.model.layers or info.spec.model.decoder_layers or info.spec.model.kind == "recurrent") then
    return nil, dir .. "/run.json: spec.model.layers: found nothing; expected an integer"
  elseif lfs.attributes(checkpoint, "mode") ~= "file" then
    return nil, checkpoint .. ": no such file; has the run written a checkpoint yet?"
  end
  return { dir = dir, checkpoint = checkpoint, info = info }
end

-- Returns names that distinguish runs: their ids; runs with equal ids also get their seed and learning rate.
function M.make_labels(runs)
  return lists.map(runs, function(run)
    local info = run.info
    local is_unique = lists.count(runs, function(candidate) return candidate.info.id == info.id end) == 1
    return is_unique and info.id or ("%s seed %s rate %s"):format(info.id,
      seeds.format({ seed = info.seed, part_seeds = info.seeds_apart }), info.learning_rate)
  end)
end

-- Finds a spec with the run's plan digest. path: a spec file, or a cell of a study; info: run.json. Returns the spec,
-- planned with the values of run.json, and the list of these values as words of --set; or nil and a message.
local function find_plan(project, path, info)
  local spec, message = project:find(path, {})
  if not spec then
    return nil, message
  elseif spec.plan.digest == info.digest then
    return spec, {}
  end
  local sets = spec_writer.list_settings(info.spec, spec.resolved)
  local spec_with_sets = project:find(path, sets)
  if spec_with_sets and spec_with_sets.plan.digest == info.digest then
    return spec_with_sets, sets
  end
  return nil, ("its plan digest is %s now, and the digest of the run is %s"):format(spec.plan.digest, info.digest)
end

-- Calls use(spec, path, sets) with the spec in run.json; path is a temporary file that exists during the call. Returns
-- the results of `use`, or nil and a message.
local function with_own_spec(project, info, use)
  local text, message = spec_writer.write_spec(info.spec)
  local folder
  if text then
    folder, message = shell.make_temporary_folder()
  end
  if not folder then
    return nil, message
  end
  local _ <close> = setmetatable({}, { __close = function() write.remove_tree(folder) end })
  local path = ("%s/%s.lua"):format(folder, info.id)
  local is_written
  is_written, message = write.file(path, text)
  if not is_written then
    return nil, message
  end
  local spec, sets = find_plan(project, path, info)
  if not spec then
    return nil, sets -- here the message of find_plan
  end
  local data = spec.plan.task.data
  if spec.plan.task.text or data and not data.is_generated then
    return nil, "it names a file of the user's own" -- the user has not requested to run this code
  end
  return use(spec, path, sets)
end

-- Returns the plan of run.json's spec; nil if the spec has another plan digest now, cannot be planned any more, or
-- names files of the user's own.
function M.plan_spec(project, info)
  local text = spec_writer.write_spec(info.spec)
  local spec = text and project:plan_text(text, info.id, "run.json")
  return spec and spec.plan.digest == info.digest and spec.plan or nil
end

-- Calls use(spec, path, sets) with the run's spec. Returns the results of `use`, or nil and a message. path:
--   spec_path, a spec or a cell of a study, if it is not nil
--   otherwise the file in spec/runs, if its spec has the run's plan digest
--   otherwise a temporary file with run.json's spec
-- sets: the words of --set that turn the file's values into the run's.
function M.with_spec(project, run, spec_path, use)
  local info = run.info
  local path, spec, sets = spec_path or project:path("spec/runs/" .. info.id .. ".lua"), nil, nil
  if spec_path or lfs.attributes(path, "mode") == "file" then
    spec, sets = find_plan(project, path, info)
  end
  if spec then
    return use(spec, path, sets)
  elseif spec_path then
    return nil, sets -- here the message of find_plan
  end
  return with_own_spec(project, info, use)
end

-- Returns the first result of M.with_spec; ends the command if there is none.
function M.use_spec(project, run, spec_path, use)
  local result, message = M.with_spec(project, run, spec_path, use)
  local text = ("%s: its spec cannot be read: %s\n  expected: --spec SPEC, the spec of the run"):format(run.dir,
    message)
  return (stop.must(INPUT, result, text)) -- the parentheses drop the text, the second result of stop.must
end

-- Returns the plan digest that a trainer prints; nil if the trainer cannot be started.
local function read_digest(trainer)
  local text, code = shell.capture({ trainer, "info", "--json" })
  local info = code == 0 and input.decode(text)
  return type(info) == "table" and info.digest or nil
end

function M.get_trainer_path(dir)
  return (dir:sub(1, 1) == "/" and dir or "./" .. dir) .. "/trainer"
end

-- Finds a trainer for the run, and returns its path; ends the command if there is none. The trainer is the first of
-- these: `trainer_path`, an existing trainer, a new trainer.
--   trainer_path   nil, or a trainer that must have the run's plan digest
--   provide        provide(path of a spec, sets) makes a new trainer; it returns a folder, or nil and an exit code
--   sets           nil, or words of --set that do not change the model; with them an existing trainer is not used
--   spec_path      the run's spec if the user names it, or nil
function M.find_trainer(project, run, trainer_path, provide, sets, spec_path)
  local digest = run.info.digest
  if trainer_path then
    local path = trainer_path:find("/") and trainer_path or "./" .. trainer_path
    local printed_digest = read_digest(path)
    if printed_digest ~= digest then
      stop.exit(INPUT, printed_digest
        and ("--trainer %s: its plan digest is %s, and the digest of %s is %s"):format(trainer_path, printed_digest,
        run.dir, digest) or ("--trainer %s: is not a trainer that runs here"):format(trainer_path))
    end
    return path
  end
  local built_trainer = build.get_folder(project, { id = run.info.id, plan = { digest = digest } }) .. "/trainer"
  if not sets and lfs.attributes(built_trainer, "mode") == "file" and read_digest(built_trainer) == digest then
    return built_trainer
  end
  local code
  local trainer, message = M.with_spec(project, run, spec_path, function(_, path, own_sets)
    local dir
    dir, code = provide(path, lists.join(own_sets, sets or {}))
    return dir and M.get_trainer_path(dir)
  end)
  return stop.must(code or 1, trainer, message and ("%s: its trainer cannot be built again: %s\n  expected: "
    .. "--trainer FILE, the trainer that trained the run, or another trainer of its spec"):format(run.dir, message))
end

return M
