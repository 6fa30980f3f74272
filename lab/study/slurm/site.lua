-- Reads a site file, which lists what a Slurm cluster, and an account on it, require of a job.
--
-- Input: a project, the name of a file in spec/sites or a path. Output: the fields of FIELDS with their defaults,
-- `seconds` (the value of `time`, or nil), `real` (the absolute path) and `shown` (the path as messages show it); or
-- nil and the errors as text. A site file is executed with the restrictions of a spec file.
-- Invariants: every text is one line that is safe in the #SBATCH line or shell script where job_script.lua puts it.

local diagnostics = require("base.diagnostics")
local lists = require("base.lists")
local load_module = require("spec.reading.load")
local lfs = require("lfs")
local locate = require("spec.reading.locate")
local similar_names = require("base.similar_names")
local nodes = require("lab.study.grid.nodes")
local paths = require("base.paths")
local values = require("spec.values")

local M = {}

M.ALL_REPLICAS = 4096 -- the value of `replicas` that lets all runs of a cell train at the same time

local MIN_SECONDS = 300 -- a task gets a signal two minutes before its end, and the controller checks every 30 s

-- Options that job_script.lua sets itself, so that a site file must not set them.
local SWEEP_OPTIONS = { "--array", "--chdir", "--cpus-per-task", "--gres", "--job-name", "--mem", "--nodes", "--ntasks",
  "--open-mode", "--output", "--partition", "--account", "--qos", "--requeue", "--signal", "--time" }

local WORD, NAME = "^[%w_.,:@+=-]+$", "a name that consists of letters, digits and _ . , : @ + = -"

-- Fields, written like the entries of spec/schema.lua; docs/cluster.md describes each field. The reader of specs reads
-- the types integer and names; this module reads the types word and lines.
M.FIELDS = {
  { path = "partition", type = "word", pattern = WORD, expected = NAME },
  { path = "account", type = "word", pattern = WORD, expected = NAME },
  { path = "qos", type = "word", pattern = WORD, expected = NAME },
  { path = "time", type = "word", pattern = "^[%d:-]+$",
    expected = '"hours:minutes:seconds" or "days-hours:minutes:seconds", at least "00:05:00"' },
  { path = "cpus", type = "integer", min = 1, max = 4096, default = 1 },
  { path = "memory", type = "word", pattern = "^%d+[KMGT]?$",
    expected = 'a number and K, M, G or T, such as "4G"; a number alone counts megabytes' },
  { path = "gpus", type = "integer", min = 0, max = 1, default = 0 },
  { path = "architectures", type = "lines", pattern = "^sm_%d+[af]?$",
    expected = 'a list such as { "sm_80", "sm_90a" }' },
  { path = "levels", type = "names", choices = { "x86-64", "x86-64-v3", "x86-64-v4", "aarch64" } },
  { path = "replicas", type = "integer", min = 1, max = M.ALL_REPLICAS },
  { path = "min_tasks", type = "integer", min = 1, max = 4000000, default = 1 },
  { path = "max_tasks", type = "integer", min = 1, max = 4000000, default = 1000 },
  { path = "options", type = "lines", pattern = "^%-%-[%w-]+[^%c]*$",
    expected = 'a list such as { "--constraint=milan", "--exclusive" }' },
  { path = "prologue", type = "lines", pattern = "^[^%c]+$",
    expected = 'a list of lines such as { "module load cuda/12" }' },
  { path = "scratch", type = "word", pattern = "^[/$][%w_./${}-]*$",
    expected = 'an absolute path, or a variable such as "$SLURM_TMPDIR"' },
}

-- Converts a time such as "1-02:03:04" to seconds; nil for an invalid time.
function M.parse_time(text)
  local days, clock_text = text:match("^(%d+)%-(.*)$")
  local hours, minutes, seconds = (clock_text or text):match("^(%d%d?%d?):(%d%d):(%d%d)$")
  if not hours or tonumber(minutes) > 59 or tonumber(seconds) > 59 or days and tonumber(hours) > 23 then
    return nil
  end
  local total_seconds = ((tonumber(days or 0) * 24 + tonumber(hours)) * 60 + tonumber(minutes)) * 60 + tonumber(seconds)
  return math.tointeger(total_seconds)
end

-- Formats seconds as a time that M.parse_time reads.
function M.format_time(seconds)
  local minutes = seconds // 60
  return ("%s%d:%02d:%02d"):format(minutes >= 1440 and ("%d-"):format(minutes // 1440) or "", minutes // 60 % 24,
    minutes % 60, seconds % 60)
end

local function matches_pattern(field, value)
  return type(value) == "string" and value:find(field.pattern) ~= nil
end

local readers = { integer = values.read, names = values.read }

function readers.word(context, field, node)
  local is_long_enough = field.path ~= "time" or (M.parse_time(tostring(node.value)) or 0) >= MIN_SECONDS
  if matches_pattern(field, node.value) and is_long_enough then
    return node.value
  end
  nodes.report(context, node, field.path, nodes.show(node) .. " does not fit here", field.expected)
end

function readers.lines(context, field, node)
  local list = {}
  for i, item in ipairs(nodes.read_items(context, node, field.path, field.expected)) do
    local path, option = locate.join(field.path, i), nil
    if not matches_pattern(field, item.value) then
      nodes.report(context, item, path, nodes.show(item) .. " does not fit here", field.expected)
    else
      option = field.path == "options" and item.value:match("^%-%-[%w-]+")
    end
    -- sbatch also accepts the beginning of an option's name.
    local name = option and lists.find(SWEEP_OPTIONS, function(reserved) return reserved:sub(1, #option) == option end)
    if name then
      nodes.report(context, item, path, (option == name and option or option .. ", short for " .. name .. ",")
        .. " is set by the sweep", "other options of sbatch; "
        .. "partition, account, qos, time, cpus, memory and gpus are fields of their own")
    end
    list[i] = item.value
  end
  return list
end

local function read_fields(context)
  local root, site = context.root, {}
  nodes.check_fields(context, root, "", lists.map(M.FIELDS, function(field) return field.path end))
  for _, field in ipairs(M.FIELDS) do
    local node = root.fields[field.path]
    if node then
      site[field.path] = readers[field.type](context, field, node)
    else
      site[field.path] = field.default
    end
  end
  if root.fields.architectures and site.gpus == 0 then
    nodes.report(context, root.fields.architectures, "architectures", "is given without a GPU", "gpus = 1 as well")
  end
  if (site.min_tasks or 0) > (site.max_tasks or math.huge) then
    nodes.report(context, root.fields.min_tasks or root.fields.max_tasks, "min_tasks",
      ("%d is above max_tasks, %d"):format(site.min_tasks, site.max_tasks), "at most max_tasks")
  end
  return site
end

-- Returns the path of a site file. argument: a path, or a name in spec/sites; adds an error to d if there is none.
local function find_file(project, argument, d)
  local path = project:path("spec/sites/" .. argument .. ".lua")
  if lfs.attributes(argument, "mode") == "file" then
    return argument
  elseif load_module.is_id(argument) and lfs.attributes(path, "mode") == "file" then
    return path
  end
  local names = project:list_names("spec/sites", ".lua")
  d:add({ what = ("no such site: %s"):format(argument), expected = "a path, or one of the names that ./longhand list "
    .. "sites shows; your own site is a file such as those (docs/cluster.md)",
    hint = similar_names.make_hint(argument:match("([^/]*)$"):gsub("%.lua$", ""), names, "%s") })
end

function M.read(project, argument)
  local d = diagnostics.new()
  local path = find_file(project, argument, d)
  local source = path and load_module.open(path, { root = project.root, diagnostics = d })
  if not source then
    return nil, d:text()
  end
  local site = read_fields({ diagnostics = d, root = source.tree })
  if d:count() > 0 then
    return nil, d:text()
  end
  site.seconds, site.real, site.shown = site.time and M.parse_time(site.time), paths.resolve(path), source.shown
  site.replicas = site.replicas or site.gpus == 0 and site.cpus or M.ALL_REPLICAS
  return site
end

return M
