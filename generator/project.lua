-- A project: one repository, with the steps that lead from the name of a spec to its generated files in memory.
--
-- Input: the repository's root and the words of the command line. Output: paths, a plan, files. No function writes or
-- prints: problems are returned as text for users.

local builds = require("base.builds")
local diagnostics = require("base.diagnostics")
local gen = require("render.templates.gen")
local lfs = require("lfs")
local lists = require("base.lists")
local load_module = require("spec.reading.load")
local similar_names = require("base.similar_names")
local model_network = require("plan.deriving.model_network")
local task_options = require("spec.task.task_options")
local paths = require("base.paths")
local plan_module = require("plan.plan")
local sha256 = require("base.sha256")
local shell = require("base.shell")
local tasks = require("spec.task.tasks")
local validate = require("spec.validate")
local write = require("base.write")

local M = {}

local Project = {}
Project.__index = Project

function M.new(root)
  return setmetatable({ root = root }, Project)
end

-- A path of the repository as this process can open it: relative if the current folder is the repository's root.
function Project:path(relative)
  return self.root == lfs.currentdir() and relative or self.root .. "/" .. relative
end

-- The path that make, which runs in the root, uses for a file in the folder of builds.
function Project:get_build_goal(relative)
  self.builds = self.builds or builds.find(self.root)
  return self.builds .. "/" .. relative
end

-- The path that this process can open for a file in the folder of builds.
function Project:get_build_path(relative)
  local goal = self:get_build_goal(relative)
  return goal:sub(1, 1) == "/" and goal or self:path(goal)
end

-- The setting that passes the folder of builds to make.
function Project:get_build_setting()
  self.builds = self.builds or builds.find(self.root)
  return "LONGHAND_BUILD=" .. self.builds
end

-- Base names, without the ending, of the files in a folder of the repository; sorted.
function Project:list_names(folder, ending)
  return paths.list_base_names(self:path(folder), ending)
end

-- The ids of the specs whose generated sources are committed in generated/.
function Project:list_showcase()
  local path = self:path("generated")
  return lists.filter(write.list_names(path), function(name)
    return lfs.attributes(path .. "/" .. name, "mode") == "directory" and load_module.is_id(name)
  end)
end

-- The path of the file that a SPEC argument means: the file at this path, or the file in spec/runs with this id; or nil
-- and the errors, as text and as data.
function Project:find_spec(argument)
  if lfs.attributes(argument, "mode") == "file" then
    return argument
  end
  local ids = self:list_names("spec/runs", ".lua")
  if load_module.is_id(argument) and lists.has(ids, argument) then
    return self:path("spec/runs/" .. argument .. ".lua")
  end
  local is_study = load_module.is_id(argument) and lists.has(self:list_names("spec/studies", ".lua"), argument)
  local d = diagnostics.new()
  d:add({
    what = diagnostics.describe_missing("spec", argument, lfs.attributes(argument, "mode")),
    expected = "a path, or one of the ids that ./longhand list runs shows",
    hint = is_study and ("%s is a study: ./longhand sweep %s; one of its cells is %s:CELL"):format(argument, argument,
      argument) or similar_names.make_hint(argument:match("([^/]*)$"):gsub("%.lua$", ""), ids, "%s"),
  })
  return nil, d:text(), d:list()
end

-- The facts that the files of tasks declare; adds errors to d.
function Project:read_task_facts(d)
  return tasks.read(self.root .. "/runtime/data/tasks", d)
end

-- The facts that the files of tasks declare; or nil and the errors as text.
function Project:read_tasks()
  local d = diagnostics.new()
  local facts = self:read_task_facts(d)
  return d:count() == 0 and facts or nil, d:text()
end

-- The facts of one kind of task as they are for given options; nil without facts. facts: the facts of the kind;
-- choices: option -> value; an option without a valid value in `choices` has its default.
function Project.settle_task(_, facts, choices)
  return facts and tasks.settle(facts, task_options.keep_valid_choices(facts, choices))
end

-- The words of --set as a list of { path, text }; a word without this form is an error in d.
function M.parse_sets(sets, d)
  return lists.map(sets or {}, function(set)
    local path, text = set:match("^%s*([%w_.%[%]]+)%s*=(.*)$")
    if not path then
      d:add({ what = ("--set %s: not of the form a.b=value"):format(set), expected = "as in --set train.steps=1000" })
    end
    return path and { path = path, text = text }
  end)
end

-- Validates the result of load.lua. Returns { id, source, resolved, origins, warnings, task, data_files, score,
-- network, init } (validate.lua); nil if d has errors, of this validation or of earlier steps.
local function validate_loaded(loaded, d, facts)
  local resolved, info = validate.resolve(loaded, d, { tasks = facts })
  return resolved and {
    id = loaded.id, source = loaded.source, resolved = resolved, task = info.task, data_files = info.files,
    origins = info.origins, warnings = info.warnings, score = info.score, network = info.network,
    init = info.init,
  }
end

-- Resolves the spec that a SPEC argument means (the result of validate_loaded, with the spec's path); or returns nil
-- and the errors, as text and as data.
function Project:resolve(argument, sets)
  local path, message, errors = self:find_spec(argument)
  if not path then
    return nil, message, errors
  end
  local d = diagnostics.new()
  local parsed_sets = M.parse_sets(sets, d)
  local facts = self:read_task_facts(d)
  local loaded = d:count() == 0 and load_module.load(path, { root = self.root, sets = parsed_sets, diagnostics = d })
  local spec = loaded and validate_loaded(loaded, d, facts)
  if not spec then
    return nil, d:text(), d:list()
  end
  spec.path = path
  return spec
end

-- Adds the plan to a resolved spec and returns the spec; nil after an error, which is added to d.
local function add_plan(spec, d)
  local problem
  spec.plan, problem = plan_module.build(spec.resolved, { task = spec.task, score = spec.score,
    network = spec.network, init = spec.init })
  if problem and spec.network and problem.path == spec.network.path then
    d:add_source(problem.path, spec.network.text)
  end
  if problem then
    local origin = not problem.path and spec.origins[problem.field]
    problem.at = origin and { set = origin }
    d:add(problem)
  end
  return spec.plan and spec
end

-- Resolves and plans a spec: returns the table of Project:resolve with the field `plan`; or nil and the errors, as text
-- and as data.
function Project:plan(argument, sets)
  local spec, message, errors = self:resolve(argument, sets)
  if not spec then
    return nil, message, errors
  end
  local d = diagnostics.new()
  return add_plan(spec, d), d:text(), d:list()
end

-- The plan of a SPEC argument. main.lua replaces this by a function that also knows the cells of studies.
function Project:find(argument, sets)
  return self:plan(argument, sets)
end

-- Plans a spec that is given as text; shown: the name of the text's source in messages. Returns the planned spec, or
-- nil and the errors as text.
function Project:plan_text(text, id, shown)
  local d = diagnostics.new()
  local replacement = { text = text, origin = function() return { path = shown, line = 1, col = 1 } end }
  local source = load_module.open(id .. ".lua", { root = self.root, diagnostics = d, replacement = replacement })
  local loaded = source and load_module.join(id, shown, { { source = source, tree = source.tree } })
  local facts = self:read_task_facts(d)
  local spec = loaded and d:count() == 0 and M.settle(loaded, d, facts)
  return spec or nil, d:text()
end

-- The network of a planned spec, unfused.
function Project.build_network(_, spec)
  return (model_network.build_network(spec.plan, spec.network))
end

-- Validates and plans the result of load.lua; nil if there are errors in d.
function M.settle(loaded, d, facts)
  local spec = validate_loaded(loaded, d, facts)
  return spec and add_plan(spec, d)
end

-- The text of a template, or of a file of another folder that a template inserts with `splice`.
function Project:read_template(name, folder)
  return write.read(("%s/%s/%s"):format(self.root, folder or "templates", name))
end

-- The kernels that a CPU build includes: a list of { path, text }, sorted by path; read once.
function Project:read_kernels()
  self.kernel_list = self.kernel_list or lists.map(self:list_names("kernels/cpu", ".h"), function(name)
    local path = "kernels/cpu/" .. name .. ".h"
    return { path = path, text = assert(write.read(self.root .. "/" .. path)) }
  end)
  return self.kernel_list
end

function Project:format_template_error(err)
  local d = diagnostics.new()
  local text = self:read_template(err.path:gsub("^templates/", ""))
  if text then
    d:add_source(err.path, text)
  end
  d:add({ path = err.path, line = err.line, col = err.col, what = err.what, hint = err.hint, notes = err.notes })
  return d:text()
end

-- All generated files of a plan, and the source digest; or nil and the errors as text. has_cuda: whether the files of
-- the CUDA half are wanted.
function Project:render_files(plan, has_cuda)
  if has_cuda and plan.no_device_code then
    local refusal, network_path = plan.no_device_code, plan.resolved.model.source
    local position = network_path and refusal.line and (" (%s:%d)"):format(network_path, refusal.line) or ""
    return nil, ("%s: there is no device code for %s%s\n  expected: --target cpu, or a spec without it\n"):format(
      plan.source, refusal.what, position)
  end
  local function read(...) return self:read_template(...) end
  local files, digest_or_error = gen.render_files(plan, read, self:read_kernels(), has_cuda)
  if not files then
    return nil, self:format_template_error(digest_or_error)
  end
  return files, digest_or_error
end

-- SHA-256 of files of the repository. The program sha256sum computes them if it exists, since sha256.lua takes a
-- hundred times as long.
function Project:hash_files(names)
  local files = lists.map(names, function(name) return self.root .. "/" .. name end)
  local command = lists.join({ "sh", "-c", 'exec sha256sum "$@" 2>/dev/null', "sha256sum" }, files)
  local sums = lists.find_all("\n" .. shell.capture(command), "\n\\?(%x+) ")
  return #sums == #names and sums or lists.map(files, function(path) return sha256.hash(write.read(path) or "") end)
end

-- The digest of the hand-written sources that a trainer is compiled from, which shows whether a build is out of date;
-- computed once. It does not cover kernels/cuda, since generated files contain copies of these kernels.
function Project:digest_sources()
  local sources = { "Makefile", "cuda.mk" }
  if self.source_digest then
    return self.source_digest
  end
  local function collect(folder)
    for _, name in ipairs(write.list_names(self.root .. "/" .. folder)) do
      local path = folder .. "/" .. name
      if lfs.attributes(self.root .. "/" .. path, "mode") == "directory" and not name:find("^%.") then
        collect(path)
      elseif name:find("%.[ch]$") then
        sources[#sources + 1] = path
      end
    end
  end
  for _, folder in ipairs({ "include", "runtime", "kernels/cpu" }) do
    collect(folder)
  end
  table.sort(sources)
  local parts = lists.map(self:hash_files(sources), function(digest, i) return sources[i] .. " " .. digest end)
  self.source_digest = sha256.digest(table.concat(parts, "\n"))
  return self.source_digest
end

return M
