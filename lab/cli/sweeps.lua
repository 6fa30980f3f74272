-- The command lines of `sweep` and `bundle`.
--
-- M.add and M.add_bundle add the verbs to the parser of generator/cli/cli.lua.
-- M.settle and M.settle_bundle return a message if words exclude each other; otherwise nil or false. They set fields of
-- the parser's result:
--   studies        the words that name a study or its cells
--   study          the first of these words
--   grid_flag      the first flag that makes a grid of a spec, or nil
--   target         "cpu" or "cpu,cuda"
--   action         for sweep: "run", "dry_run" or one of ACTIONS
--   device, arch   for sweep: values of these options, with defaults

local converters = require("cli.converters")
local lists = require("base.lists")
local options = require("cli.options")

local M = {}

local ACTIONS = { status = true, watch = true, resubmit = true, cancel = true }

local SITE_OPTIONS = { "jobs", "device", "arch", "jit" } -- a site file sets these
local TRAINING_OPTIONS = { "jobs", "hours", "device", "arch", "jit", "cuda_root" }

local function read_device(text)
  return (text == "cpu" or text == "cuda" or text:find("^cuda:%d+$")) and text or nil,
    ("%s: expected cpu, cuda or cuda:N"):format(text)
end

local function read_span(text)
  local number = tonumber(text)
  return number and number > 0 and number < 1e6 and number or nil, ("%s: not a number above 0"):format(text)
end

-- Adds the words that name a study and choose its cells. grid_folder: words of the help for the folder of saved grids.
local function add_study(command, grid_folder)
  command:argument("study", "a study file, or the name of a study in spec/studies or in DIR; STUDY:CELL,CELL for some "
    .. "of its cells; or a spec, with --axis, --seeds or --learning-rate"):target("words"):args("1+")
  options.add(command, {
    { "--axis FIELD=VALUES", "for a spec: an axis of a grid, which is a field and its values, such as "
      .. "encoding=alibi,rope, model.layers=1:4 (both ends included), train.lengths={1,20},{1,40}; repeat it per axis. "
      .. ("The grid is saved in %s as a study file"):format(grid_folder), count = "*", args = 1, target = "axes" },
    { "--seeds A:B", "for a spec: one run for each seed, A to B, both included; default: 0" },
    { "--seeds-init A:B", "for a spec: seeds of initial values alone; one run for each combination of seeds" },
    { "--seeds-data A:B", "for a spec: seeds of training examples alone" },
    { "--seeds-draws A:B", "for a spec: seeds of random positions and dropout alone" },
    { "--learning-rate X,Y", "for a spec: one run for each rate; default: the spec's rate", target = "rates" },
    { "--label VALUE=TEXT", "with --axis: reports show TEXT instead of this value, as in none=NoPE; repeat it per "
      .. "value. If you give the same grid again without --label, its labels stay", count = "*", args = 1,
      target = "labels" },
    { "--only AXIS=VALUE", "only cells with this value, or with one of VALUE,VALUE; with several axes, only cells that "
      .. "match all of them", count = "*", args = 1 },
    { "--scale NAME", "one of the study's scales, such as small" },
  })
end

local CUDA_AS_IN = "with --device cuda: as in "

function M.add(parser)
  local sweep = parser:command("sweep"):summary("build, train and evaluate all runs of a study that are not finished")
  sweep:description("Builds the trainers of a study's cells and trains all runs that are not finished, as many side by "
    .. "side as there are processors; with --slurm, as tasks of a cluster. After any interruption, the same command "
    .. "continues. A word before STUDY chooses another action: status lists finished, running and waiting runs; watch "
    .. "repeats this list while other processes train the runs. For tasks of Slurm: resubmit submits "
    .. "the runs that are neither finished nor in a queue; cancel cancels the tasks.")
  sweep:usage("Usage: longhand sweep [status|watch|resubmit|cancel] STUDY [--scale NAME] [--set FIELD=VALUE] "
    .. "[--out DIR]\n                      [--only AXIS=VALUE] [--jobs N] [--hours N] [--device cuda] [--slurm SITE] "
    .. "[--dry-run]\n       longhand sweep SPEC [--axis FIELD=VALUES ...] [--seeds A:B] [--learning-rate X,Y] ...")
  add_study(sweep, "DIR")
  options.add(sweep, {
    { "--jobs N", "number of cells that train side by side; default: as many as keep all processors busy",
      convert = converters.read_positive },
    { "--hours N", "start no run after N hours; runs in training continue to their end", convert = read_span },
    { "--out DIR", "folder of the runs", default = "runs" },
    { "--device DEVICE", "device that computes: cpu, cuda or cuda:N; default: cpu", convert = read_device },
    { "--arch LIST", CUDA_AS_IN .. "train", convert = converters.read_architectures },
    { "--jit", CUDA_AS_IN .. "train" },
    { "--cuda-root DIR", CUDA_AS_IN .. "train" },
    { "--slurm SITE", "submit to this cluster: a site file, or the name of a site in spec/sites (docs/cluster.md)" },
    { "--dry-run", "train nothing; estimate the hours on this machine by measuring built trainers, else by recorded "
      .. "speeds, else by building and measuring one trainer; with --slurm, print the script of the job" },
    { "--seconds N", "with watch: seconds between two updates; default: 5", convert = read_span },
    { "--once", "with watch: show the list once and exit" },
    options.SET,
  })
end

function M.add_bundle(parser)
  local summary = "pack a study into one archive for a machine that has nothing but a shell"
  local bundle = parser:command("bundle"):summary(summary)
  bundle:description("Builds static trainers of a study's cells and packs them, with the files that they read, into an "
    .. "archive whose run.sh trains and evaluates all runs. After you copy the runs back, reports treat them as if "
    .. "they were swept here (docs/cluster.md).")
  bundle:usage("Usage: longhand bundle STUDY [--scale NAME] [--set FIELD=VALUE] [--only AXIS=VALUE] [--levels LIST]\n"
    .. "                       [--device cuda [--arch LIST]] [--runs DIR] [--out FILE]\n"
    .. "       longhand bundle SPEC [--axis FIELD=VALUES ...] [--seeds A:B] [--learning-rate X,Y] ...")
  add_study(bundle, "the bundle's folder of runs")
  options.add(bundle, {
    { "--levels LIST", "instruction-set levels: as in build", default = "all" },
    { "--device DEVICE", "device that computes on the other machine; trainers for cuda are not static: they need glibc "
      .. "and NVIDIA's driver", choices = { "cpu", "cuda" }, default = "cpu" },
    { "--arch LIST", CUDA_AS_IN .. "build", convert = converters.read_architectures },
    { "--cuda-root DIR", CUDA_AS_IN .. "build" },
    { "--runs DIR", "local folder of runs, to which you copy the bundle's runs", target = "out", default = "runs" },
    { "--out FILE", "the archive; default: STUDY.tar.gz in the current folder", target = "archive" },
    options.SET,
  })
end

-- Sets grid_flag. Returns a message if this flag and another word exclude each other; otherwise a false value.
local function settle_grid(result)
  local flag = #result.axes > 0 and "--axis" or result.seeds and "--seeds" or result.seeds_init and "--seeds-init"
    or result.seeds_data and "--seeds-data" or result.seeds_draws and "--seeds-draws"
    or result.rates and "--learning-rate" or nil
  result.grid_flag = flag
  if flag and #result.studies > 1 then
    return ("%s is for one spec: too many arguments: %s"):format(flag, result.studies[2])
  end
  if #result.axes == 0 and result.labels[1] then
    return "--label needs --axis: " .. (flag and "without an axis no value has a label"
      or "a study file lists its labels in `report`")
  end
  return flag and result.scale and ("--scale cannot be used with %s: a grid from flags has no scales"):format(flag)
end

-- Returns a message if options exclude each other or do not fit the action; otherwise a false value.
-- action: the word before STUDY, or nil.
local function find_conflict(result, action)
  if action and result.dry_run then
    return "--dry-run cannot be used with " .. action
  elseif result.slurm and (action == "status" or action == "watch" or action == "cancel") then
    return "--slurm cannot be used with " .. action
  elseif result.hours and (action or result.dry_run) then
    return ("--hours cannot be used with %s: it is for a sweep that trains"):format(action or "--dry-run")
  elseif result.hours and result.slurm then
    return "--hours cannot be used with --slurm: `time` and `max_tasks` of the site file bound the job array"
  elseif (result.seconds or result.once) and action ~= "watch" then
    return ("%s is only for watch"):format(result.once and "--once" or "--seconds")
  elseif result.seconds and result.once then
    return "--seconds cannot be used with --once: the list is shown once"
  elseif action == "cancel" and #result.only > 0 then
    return "--only cannot be used with cancel: all of the study's tasks are cancelled"
  end
  local function find_option(option_names)
    local name = lists.find(option_names, function(option) return result[option] end)
    return name and name:gsub("_", "-")
  end
  local training_option = action and action ~= "resubmit" and find_option(TRAINING_OPTIONS)
  local site_option = (result.slurm or action == "resubmit") and find_option(SITE_OPTIONS)
  if training_option then
    return ("--%s cannot be used with %s, which trains nothing"):format(training_option, action)
  end
  return site_option and ("--%s cannot be used with %s: the site file sets it"):format(site_option,
    result.slurm and "--slurm" or action)
end

-- Sets studies, study and grid_flag. Returns a message if the words do not fit; otherwise a false value.
-- first: the index of the first word that names a study. Several such words must all have the form STUDY:CELL.
local function settle_study(result, first)
  result.studies = table.move(result.words, first, #result.words, 1, {})
  result.study = result.studies[1]
  for i = 2, #result.studies do
    if not (result.study:find(":", 1, true) and result.studies[i]:find(":", 1, true)) then
      return ("too many arguments: %s"):format(result.studies[i])
    end
  end
  return settle_grid(result)
end

function M.settle_bundle(result)
  result.target = result.device == "cpu" and "cpu" or "cpu,cuda"
  return settle_study(result, 1)
end

function M.settle(result)
  local words = result.words
  local action = ACTIONS[words[1]] and words[1]
  if action and not words[2] then
    return "missing argument 'STUDY'"
  end
  local problem = settle_study(result, action and 2 or 1)
  problem = find_conflict(result, action) or problem
  if problem then
    return problem
  end
  result.action = action or result.dry_run and "dry_run" or "run"
  result.device = result.device or "cpu"
  result.target = result.device == "cpu" and "cpu" or "cpu,cuda"
  result.arch = result.arch or result.target == "cpu,cuda" and not result.jit and "here" or nil
end

return M
