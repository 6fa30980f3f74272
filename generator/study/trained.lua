-- A trained run: its folder, its checkpoint, and the trainer and the spec that belong to it.
--
-- Input: a run's folder, or a checkpoint in one. Output: M.open gives { dir, checkpoint, info }, info being run.json;
-- M.spec the spec as project:plan returns it; M.trainer the path of a trainer of the same plan digest, built where
-- there is none. nil and a message where that is not possible.

local build = require("build")
local json = require("dkjson")
local lfs = require("lfs")
local respec = require("respec")
local shell = require("shell")
local write = require("write")

local M = {}

local function read_info(dir)
  local path = dir .. "/run.json"
  local text, message = write.read(path)
  if not text then
    return nil, message .. "; expected the folder of a run, or a checkpoint in one"
  end
  local info = json.decode(text)
  if type(info) ~= "table" or type(info.spec) ~= "table" or not info.id or not info.digest then
    return nil, path .. ": no run.json of a trainer: id, digest or spec is missing"
  end
  return info
end

function M.open(path)
  path = path:gsub("(.)/+$", "%1")
  local dir, checkpoint = path, path .. "/checkpoint.safetensors"
  if path:find("%.safetensors$") then
    dir, checkpoint = path:match("^(.*)/[^/]*$") or ".", path
  end
  local info, message = read_info(dir)
  if not info then
    return nil, message
  elseif lfs.attributes(checkpoint, "mode") ~= "file" then
    return nil, checkpoint .. ": no such file; has the run written a checkpoint yet?"
  end
  return { dir = dir, checkpoint = checkpoint, info = info }
end

-- Names that tell runs apart: ids, with seed and rate where ids are not enough.
function M.labels(runs)
  local count, labels = {}, {}
  for _, run in ipairs(runs) do
    count[run.info.id] = (count[run.info.id] or 0) + 1
  end
  for i, run in ipairs(runs) do
    local info = run.info
    labels[i] = count[info.id] == 1 and info.id or ("%s seed %s rate %s"):format(info.id, info.seed, info.learning_rate)
  end
  return labels
end

local function plan_of(project, path, digest)
  local spec, message = project:plan(path, {})
  if not spec then
    return nil, message
  elseif spec.plan.digest ~= digest then
    return nil, ("its plan digest is %s now, and the run's %s"):format(spec.plan.digest, digest)
  end
  return spec
end

-- Calls use(spec, path) with the run's spec: `given`, or that of spec/runs where it is still the same, else run.json's
-- in a temporary file. Returns what use returns, or nil and a message.
function M.with_spec(project, run, given, use)
  local info = run.info
  if given then
    local spec, message = plan_of(project, given, info.digest)
    if not spec then
      return nil, message
    end
    return use(spec, given)
  end
  local listed = project:path("spec/runs/" .. info.id .. ".lua")
  local spec = lfs.attributes(listed, "mode") == "file" and plan_of(project, listed, info.digest)
  if spec then
    return use(spec, listed)
  end
  local text, message = respec.text(info.spec)
  if not text then
    return nil, message
  end
  local folder = os.tmpname()
  os.remove(folder)
  local path = ("%s/%s.lua"):format(folder, info.id)
  local written
  written, message = write.files(folder, { { path = info.id .. ".lua", text = text } })
  if not written then
    return nil, message
  end
  spec, message = plan_of(project, path, info.digest)
  local results = table.pack(nil, message)
  if spec then
    results = table.pack(use(spec, path))
  end
  write.remove_tree(folder)
  return table.unpack(results, 1, results.n)
end

local function digest_of(trainer)
  local text, code = shell.capture({ trainer, "info", "--json" })
  local info = code == 0 and json.decode(text)
  return type(info) == "table" and info.digest or nil
end

-- A trainer for the run: `given`, which must be of its digest; one that was built before; or a new one by
-- provide(path of a spec) -> folder or nil and an exit code. Returns its path; or nil, an exit code and a message.
function M.trainer(project, run, given, provide)
  local digest = run.info.digest
  if given then
    local path = given:find("/") and given or "./" .. given
    local found = digest_of(path)
    if found ~= digest then
      return nil, 1, found and ("--trainer %s: its plan digest is %s, and that of %s is %s"):format(given, found,
        run.dir, digest) or ("--trainer %s: is no trainer that runs here"):format(given)
    end
    return path
  end
  local built = build.folder(project, { id = run.info.id, plan = { digest = digest } }) .. "/trainer"
  if lfs.attributes(built, "mode") == "file" and digest_of(built) == digest then
    return built
  end
  local code
  local trainer, message = M.with_spec(project, run, nil, function(_, path)
    local dir
    dir, code = provide(path)
    return dir and (dir:sub(1, 1) == "/" and dir or "./" .. dir) .. "/trainer"
  end)
  if not trainer then
    return nil, code or 1, message and ("%s: its trainer cannot be built again: %s\n  expected: --trainer FILE, the "
      .. "trainer that made it, or one of the same spec"):format(run.dir, message)
  end
  return trainer
end

return M
