-- The verbs of ./longhand. No other module of generator/ reads the arguments, prints or ends the process, except that
-- argparse prints the help of a verb and exits.
--
-- Data flows one way: spec -> project (load, validate, plan, render) -> write or build. A user's mistake ends in a
-- message and a documented exit code, never in a stack trace. Modules that only a few verbs need are loaded when one of
-- these verbs runs. Most of them are in lab/; no other file of generator/ requires a module of the lab.

-- The process is short and makes little garbage: collecting less often saves a tenth of its time and costs some
-- megabytes.
collectgarbage("incremental", 400)

local root = arg[0]:match("^(.*)/generator/main%.lua$") or "."
package.path = ("%s/generator/?.lua;%s/?.lua;%s"):format(root, root, package.path)

local build = require("render.builds.build")
local builds = require("base.builds")
local cli = require("cli.cli").make(require("lab.cli.command_lines"))
local defaults = require("plan.deriving.defaults")
local canonical = require("base.canonical")
local lfs = require("lfs")
local lists = require("base.lists")
local listing = require("cli.listing")
local project_module = require("project")
local render_module = require("render.templates.render")
local resolved_spec = require("spec.resolved")
local schema = require("spec.schema")
local shell = require("base.shell")
local trainer_flags = require("spec.trainer_flags")
local tuned = require("render.builds.tuned")
local write = require("base.write")

local DONE, INPUT, USAGE, STALE, ENVIRONMENT = 0, 1, 2, 3, 4

local verbs, dev_verbs = {}, {}

local function print_error(...)
  io.stderr:write(...)
end

-- Prints the warnings of a spec, and a warning for each of its data files that does not exist. data_files: the name of
-- the task's field -> { real, shown }, the path to open and the path for messages.
local function warn(spec)
  for _, warning in ipairs(spec.warnings) do
    print_error("warning: ", type(warning) == "table" and warning.what or warning, "\n")
  end
  for _, name in ipairs({ "data", "eval", "validation" }) do
    local file = spec.data_files[name]
    if file and lfs.attributes(file.real, "mode") ~= "file" then
      print_error(("warning: task.%s: there is no file %s yet; the trainer will read it\n"):format(name, file.shown))
    end
  end
end

-- Prints a problem and returns the exit code.
local function fail(code, text)
  print_error(text, text:sub(-1) == "\n" and "" or "\n")
  return code
end

-- Returns the planned spec that a SPEC argument names, which may be a cell of a study; or nil, a message, and the
-- errors as data (nil if only the message exists).
local function find_spec(project, arguments)
  if arguments.spec:find(":", 1, true) and not lfs.attributes(arguments.spec, "mode") then
    return require("lab.study.grid.grid").plan_cell(project, arguments.spec, arguments.set, arguments.runs)
  end
  return project:plan(arguments.spec, arguments.set)
end

-- Finds a spec and prints its warnings; is_local: also applies choices that were tuned on this machine. Returns nil and
-- an exit code after an error.
local function open_spec(project, arguments, is_local)
  local spec, message = find_spec(project, arguments)
  if not spec then
    return nil, fail(INPUT, message)
  end
  warn(spec)
  if is_local then
    warn({ warnings = tuned.apply(project, spec.plan), data_files = {} })
  end
  return spec
end

local function print_result(text)
  io.stdout:write(text)
  return DONE
end

function verbs.check(project, arguments)
  local spec, message, errors = find_spec(project, arguments)
  if not spec and arguments.json then
    print_result(canonical.format({ errors = errors or { { what = message } } }) .. "\n")
    return INPUT
  elseif not spec then
    return fail(INPUT, message)
  end
  warn(spec)
  if arguments.json then
    return print_result(canonical.format({ id = spec.id, digest = spec.plan.digest, path = spec.path }) .. "\n")
  end
  return print_result(arguments.print and resolved_spec.format(spec.resolved, spec.origins) or spec.path .. ": ok\n")
end

-- Returns a planned spec with its generated files in `files`; or nil and an exit code after a message. target: "cpu" or
-- "cpu,cuda"; nil: both, if the network has device code. is_local: as for open_spec; nil for `gen`, whose sources are
-- for any machine.
local function render_spec(project, arguments, target, is_local)
  local spec, code = open_spec(project, arguments, is_local)
  if not spec then
    return nil, code
  end
  local refusal = spec.plan.no_device_code
  local has_cuda = target == "cpu,cuda" or not target and not refusal
  if refusal and not target then
    print_error(("%s: only the CPU half is written, since there is no device code for %s\n"):format(spec.plan.source,
      refusal.what))
  end
  local message
  spec.files, message = project:render_files(spec.plan, has_cuda)
  if not spec.files then
    return nil, fail(INPUT, message)
  end
  return spec
end

-- Whether path, the spec's folder in generated/, has committed sources of this spec, and this user may write them.
local function is_showcase(project, spec, arguments, path)
  return #arguments.set == 0 and lfs.attributes(path, "mode") == "directory"
    and spec.path == project:path("spec/runs/" .. spec.id .. ".lua") and shell.run({ "test", "-w", path }) == 0
end

function verbs.gen(project, arguments)
  local spec, code = render_spec(project, arguments, arguments.target)
  if not spec then
    return code
  end
  local folder = "generated/" .. spec.id
  local showcase_path = project:path(folder)
  local dir = arguments.out or is_showcase(project, spec, arguments, showcase_path) and showcase_path
    or project:get_build_path(folder)
  local changed, message = write.files(dir, spec.files)
  if not changed then
    return fail(ENVIRONMENT, "longhand: " .. message)
  end
  local outcome = #changed == 0 and "nothing changed" or "written: " .. table.concat(changed, " ")
  return print_result(("%s: %d files, %s\n"):format(dir, #spec.files, outcome))
end

-- Returns the job of a rendered spec (build.lua); or nil and a message. request: see provide_trainer.
local function make_job(project, spec, request)
  local levels, message = build.find_levels(project, request.levels)
  message = message or request.linking == "static" and build.find_static_problem(project)
  if message then
    return nil, message
  end
  local cuda
  if request.target == "cpu,cuda" then
    cuda, message = build.find_cuda(project, request, spec.plan.least_architecture)
    if not cuda then
      return nil, message
    end
  end
  return build.make_job(project, spec, levels, request.linking or "dynamic", cuda)
end

-- Builds a trainer unless it is up to date. Returns { dir, outcome, spec }, where `outcome` is a text for users; or nil
-- and an exit code. The fields of a request are values of options of the verb `build`:
--   levels, target, arch, jit, cuda_root   the options with these names
--   dir       the folder of the trainer; nil: the usual folder
--   linking   "static" or "dynamic"; nil: an existing trainer may be static or dynamic, and a new one becomes dynamic
local function provide_trainer(project, arguments, request)
  local spec, code = render_spec(project, arguments, request.target or "cpu", true)
  if not spec then
    return nil, code
  end
  local job, message = make_job(project, spec, request)
  if not job then
    return nil, fail(ENVIRONMENT, "longhand: " .. message)
  end
  local dir = request.dir or build.get_folder(project, spec)
  local trainer = { dir = dir, outcome = "up to date", spec = spec }
  if build.is_fresh(dir, job, request.linking) then
    return trainer
  end
  local text
  code, text = build.update_defaults(project, job, dir, request.linking)
  if code then
    trainer.outcome = "new defaults, nothing compiled," -- printed before words such as "for the CPU alone"
  else -- the trainer must be compiled
    print_error(("building %s for %s\n"):format(spec.id, job.levels:gsub(" ", ", ")))
    if job.cuda then
      print_error(("building its CUDA half: %s\n"):format(build.describe_cuda(job.cuda)))
    end
    code, text = build.build(project, job, dir)
    trainer.outcome = "built"
  end
  if text then
    print_error(text)
  end
  if code ~= 0 then
    return nil, fail(code, ("%s: nothing was built"):format(dir))
  end
  return trainer
end

function verbs.build(project, arguments)
  local trainer, code = provide_trainer(project, arguments, { levels = arguments.levels:gsub(",", " "),
    dir = arguments.out, linking = arguments.static and "static" or "dynamic", target = arguments.target,
    arch = arguments.arch, jit = arguments.jit, cuda_root = arguments.cuda_root })
  if not trainer then
    return code
  end
  return print_result(("%s/trainer: %s for %s\n"):format(trainer.dir, trainer.outcome,
    build.has_cuda(trainer.dir) and "CPU and CUDA" or "the CPU alone"))
end

-- Reports to the launcher how this process ends; returns false if there is no launcher. ending: "ended", or "exec
-- COMMAND" if the launcher is to run a command instead.
local function notify_launcher(ending)
  local descriptor = os.getenv("LONGHAND_LAST_WORD")
  local launcher = descriptor and io.open("/dev/fd/" .. descriptor, "w")
  if launcher then
    launcher:write(ending)
    launcher:close()
  end
  return launcher and true or false
end

local is_replaced = false -- whether the launcher runs another command instead of this process

-- Asks the launcher to run a command instead of this process; without a launcher, runs the command here.
local function replace_process(words)
  is_replaced = notify_launcher("exec " .. shell.join(words))
  return is_replaced and DONE or shell.run(words)
end

function verbs.train(project, arguments)
  local trainer, code = provide_trainer(project, arguments, { levels = "best", target = arguments.target,
    jit = arguments.jit, cuda_root = arguments.cuda_root,
    -- "here": the architecture of this machine's GPU; without a GPU the default architecture
    arch = arguments.arch or not arguments.jit and "here" or nil })
  if not trainer then
    return code
  end
  if not trainer.spec.plan.has_draws and lists.find(arguments.flags, function(flag)
    return flag:find("^%-%-seeds%-draws") end) then
    print_error("warning: --seeds-draws has no effect: training samples neither positions nor dropout\n")
  end
  local dir, files = trainer.dir, trainer_flags.list_training(trainer.spec.data_files)
  local program = (dir:find("/") and dir or "./" .. dir) .. "/trainer"
  return replace_process(lists.join({ "env", defaults.make_environment(trainer.spec.plan.defaults), program, "train" },
    lists.join(files, arguments.flags))) -- the user's flags take precedence
end

function verbs.test(project, arguments)
  if not lfs.attributes(project.root .. "/tests/run.sh", "mode") then
    return fail(ENVIRONMENT, ("longhand test: there are no tests in %s; expected: a clone, or an unpacked release")
      :format(project.root))
  end
  local flags = lists.filter({ "--quick", "--long", "--times" }, function(flag) return arguments[flag:sub(3)] end)
  return replace_process(lists.join({ "sh", project.root .. "/tests/run.sh" }, flags))
end

-- Runs a verb of the lab, which gets functions that find specs and build trainers (verbs.lua of the lab).
local function run_in_lab(project, arguments)
  local function make_arguments(path, sets)
    return { spec = path, set = sets or {}, runs = arguments.runs }
  end
  function project.find(_, path, sets)
    return find_spec(project, make_arguments(path, sets))
  end
  function arguments.open()
    return open_spec(project, arguments, true)
  end
  function arguments.provide(path, sets)
    local trainer, code = provide_trainer(project, make_arguments(path, sets), { levels = "best" })
    return trainer and trainer.dir, code, trainer and trainer_flags.list_files(trainer.spec.data_files)
  end
  local code, message = require("lab.verbs")[arguments.verb](arguments)
  return message and fail(code, message) or code
end

function verbs.list(project, arguments)
  local show = arguments.name and listing.show or listing.list
  local lines, message = show(project, arguments.what, arguments.name)
  return lines and print_result(table.concat(lines, "\n") .. "\n") or fail(INPUT, message)
end

function verbs.fields(_, arguments)
  if arguments.json then
    return print_result(canonical.format(schema.list_facts()) .. "\n")
  end
  local text, suggestion = schema.format_fields(arguments.all, arguments.path)
  return text and print_result(text) or fail(INPUT, ("longhand fields: there is no field %s%s"):format(arguments.path,
    suggestion and ("; did you mean %s?"):format(suggestion) or ""))
end

-- Returns the line of a generated file that the arguments request; or nil and an exit code after a message. Fields:
--   file, line   the path of the file, and the number of the line
--   text         the text of the whole file
--   spec, set    the file's spec, and the values of --set
local function find_line(project, arguments)
  local function refuse(code, message)
    return nil, fail(code, "longhand dev where: " .. message)
  end
  local file, line = arguments.place:match("^(.+):(%d+)$")
  if not file then
    return refuse(USAGE, arguments.place .. ": not of the form FILE:LINE")
  end
  local text, message = write.read(file)
  if not text then
    return refuse(INPUT, message)
  end
  local source = text:match("spec      ([^\n]+)")
  if not source and not arguments.spec then
    return refuse(INPUT, file .. " has no banner that names its spec; use --spec SPEC")
  end
  return { file = file, line = math.tointeger(tonumber(line)), text = text, set = arguments.set,
    spec = arguments.spec or source:find("^spec/") and project:path(source) or source }
end

function dev_verbs.where(project, arguments)
  local request, code = find_line(project, arguments)
  local spec
  if request then
    spec, code = render_spec(project, request, "cpu,cuda")
  end
  if not spec then
    return code
  end
  local name = request.file:match("([^/]+)$")
  local file = lists.find(spec.files, function(entry) return entry.path == name and entry.map[request.line] end)
  if not file then
    return fail(INPUT, ("longhand dev where: no template line for line %d of %s"):format(request.line, name))
  elseif file.text ~= request.text then
    print_error(("warning: %s differs from what would be written now; lines may be off\n"):format(request.file))
  end
  local places = lists.map(file.map[request.line], render_module.format_place)
  return print_result(table.concat(places, "\nincluded at ") .. "\n")
end

function verbs.completion(project, arguments)
  return print_result(require("cli.completion").write_script(cli.outline(), trainer_flags.read(project.root),
    arguments.shell))
end

local function read_version()
  return (assert(write.read(root .. "/VERSION")))
end

function dev_verbs.manual()
  return print_result(require("cli.manual").write(cli.outline(), (read_version():gsub("%s+$", ""))))
end

function dev_verbs.python()
  return print_result(require("cli.python_fields").write())
end

function dev_verbs.stale(project)
  local stale_files, ids = 0, project:list_showcase()
  for _, id in ipairs(ids) do
    local arguments = { spec = project:path("spec/runs/" .. id .. ".lua"), set = {} }
    local spec, code = render_spec(project, arguments, "cpu,cuda")
    if not spec then
      return code
    end
    for _, difference in ipairs(write.compare(project:path("generated/" .. id), spec.files)) do
      io.stdout:write(("generated/%s/%s: %s\n"):format(id, difference.path, difference.state))
      stale_files = stale_files + 1
    end
  end
  if stale_files > 0 then
    return fail(STALE, ("%d %s: run make gen and commit the result"):format(stale_files, stale_files == 1
      and "file is stale" or "files are stale"))
  end
  return print_result(("generated/: %d runs, up to date\n"):format(#ids))
end

function verbs.dev(project, arguments)
  return dev_verbs[arguments.what](project, arguments)
end

local function main(arguments)
  if #arguments == 0 then
    print_error(cli.help(), "\n")
    return USAGE
  end
  local parsed, message, usage = cli.parse(arguments, root)
  if not parsed then
    return fail(USAGE, cli.refusal(message, usage))
  elseif parsed.version then
    return print_result("longhand " .. read_version())
  elseif not parsed.verb then
    return fail(USAGE, cli.help())
  end
  local problem = builds.find_problem(root)
  if problem then
    return fail(ENVIRONMENT, problem)
  end
  parsed.project = project_module.new(root)
  function parsed.say(text) -- prints a line without buffering
    io.stdout:write(text, "\n")
    io.stdout:flush()
  end
  return (verbs[parsed.verb] or run_in_lab)(parsed.project, parsed)
end

local MISTAKE = "longhand: this is a mistake of the program, not of yours; please report it:\n"

-- Converts an error to { code, text }, the form that lab/stop.lua raises to end a command. Lua turns Ctrl-C into an
-- error with the text "interrupted!".
local function make_failure(err, trace)
  local text = tostring(err)
  if type(err) == "table" and err.code and err.text then
    return err
  elseif type(err) == "string" and text:find("interrupted!", 1, true) then
    return { code = 130, text = "" }
  elseif text:find("not enough memory", 1, true) then
    return { code = ENVIRONMENT, text = "longhand: out of memory; the launcher gives Lua 4 GB" }
  end
  return { code = ENVIRONMENT, text = MISTAKE .. (trace or text) }
end

local ok, code = xpcall(main, function(err) return make_failure(err, debug.traceback(tostring(err))) end, arg)
if not ok then
  -- If Lua itself has no memory or no stack left, it does not call the message handler.
  local failure = type(code) == "table" and code or make_failure(code)
  print_error(failure.text, "\n")
  code = failure.code
end
if not is_replaced then
  notify_launcher("ended")
end
os.exit(code, true)
