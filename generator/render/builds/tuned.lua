-- Results of ./longhand tune: a folder of small JSON files, one for each combination of machine, level, compiler and
-- shape of model. Builds take choices that affect speed from these files (plan/deriving/tuning.lua).
--
-- Input: a project, a plan. Output: plan.tuned, and warnings about invalid files, which are ignored. The folder is
-- `tuned` in LONGHAND_CACHE, by default in the folder longhand of the user's cache.

local canonical = require("base.canonical")
local input = require("base.input")
local levels = require("plan.deriving.levels")
local lfs = require("lfs")
local paths = require("base.paths")
local sha256 = require("base.sha256")
local shell = require("base.shell")
local escape = require("base.escape")
local tuning = require("plan.deriving.tuning")
local write = require("base.write")

local M = {}

local MAX_FILE_BYTES = 1 << 16
local CACHE_PATH = "/sys/devices/system/cpu/cpu0/cache/index%d/%s" -- number and field of a cache

local function read_first_line(path)
  return (write.read(path) or ""):match("^([^\n]+)")
end

-- Returns the bytes of a core's data caches, by level.
local function read_caches()
  local bytes = {}
  for i = 0, 9 do
    local level, kind = read_first_line(CACHE_PATH:format(i, "level")), read_first_line(CACHE_PATH:format(i, "type"))
    local size, unit = (read_first_line(CACHE_PATH:format(i, "size")) or ""):match("^(%d+)([KM])$")
    if level and kind ~= "Instruction" and size then
      bytes[tonumber(level)] = math.tointeger(size) * (unit == "M" and 1 << 20 or 1 << 10)
    end
  end
  return bytes
end

-- Returns { name, l2 } of this machine. name: processor and caches, which identify the machine; l2: bytes of a core's
-- second cache.
function M.read_machine()
  local name = ("\n" .. (write.read("/proc/cpuinfo") or "")):match("\nmodel name[ \t]*:[ \t]*([^\n]-)%s*\n")
  local bytes = read_caches()
  return { l2 = bytes[2] or tuning.ANY_MACHINE.l2, name = ("%s, %s KB and %s KB of cache a core"):format(
    name or "unknown processor", bytes[1] and bytes[1] // 1024 or "?", bytes[2] and bytes[2] // 1024 or "?") }
end

-- Returns the compiler's name and version in one line, as the Makefile prints it. Make runs only at the first call.
function M.read_compiler(project)
  if not project.compiler_words then
    local text = shell.capture(shell.make_command(project.root, "print-compiler"))
    project.compiler_words = escape.plain((text:gsub("%s+$", "")))
  end
  return project.compiler_words
end

local function hash_briefly(text)
  return sha256.digest(text):sub(1, 8)
end

-- Returns the key of an entry: { machine, level, compiler, shape }.
function M.make_key(project, plan, level)
  return { machine = M.read_machine().name, level = level, compiler = M.read_compiler(project),
    shape = tuning.describe_shape(plan) }
end

-- Returns the path of a key's file; nil if the user has no cache folder.
function M.get_path(key)
  local folder = paths.find_cache("tuned")
  return folder and ("%s/%s-%s-%s.json"):format(folder, hash_briefly(key.shape), key.level,
    hash_briefly(canonical.format(key)))
end

-- Returns the problem with an entry, { field, found, expected }, or nil.
local function find_problem(entry, key, plan)
  if getmetatable(entry) ~= input.OBJECT then
    return { field = "the file", found = "no object", expected = "an object" }
  end
  for name, value in pairs(key) do
    if entry[name] ~= value then
      return { field = name, found = tostring(entry[name]), expected = value }
    end
  end
  if type(entry.date) ~= "string" or not entry.date:find("^%d%d%d%d%-%d%d%-%d%d$") then
    return { field = "date", found = tostring(entry.date), expected = "a date, 2026-11-23" }
  elseif getmetatable(entry.choices) ~= input.OBJECT then
    return { field = "choices", found = type(entry.choices), expected = "an object" }
  end
  local valid_values = tuning.list_values(plan, levels[key.level])
  for _, name in ipairs(canonical.sort_keys(entry.choices)) do
    local value = entry.choices[name]
    if not valid_values[name] then
      return { field = "choices." .. name, found = "no choice", expected = table.concat(valid_values, ", ") }
    elseif type(value) ~= "string" or not valid_values[name][value] then
      return { field = "choices." .. name, found = tostring(value), expected = table.concat(valid_values[name], ", ") }
    end
  end
end

-- Returns the entry of a key: { date, values }; nil if there is none; nil and a warning if the entry is invalid.
function M.read(key, plan)
  local path = M.get_path(key)
  local text, problem = input.read(path, MAX_FILE_BYTES)
  local entry
  if text then
    entry, problem = input.decode(text)
    problem = entry and find_problem(entry, key, plan) or problem
  elseif not problem then
    return nil
  end
  if problem then
    return nil, ("%s: %s%s; expected %s; estimated choices are used instead; remove the file"):format(path,
      problem.field and escape.plain(problem.field) .. ": " or "", escape.plain(problem.found), problem.expected)
  end
  return { date = entry.date, values = entry.choices }
end

-- Returns whether the folder has results for models of this shape, and a warning if the folder cannot be read. Without
-- results, the compiler's name need not be read.
local function has_results(plan)
  local folder, prefix = paths.find_cache("tuned"), hash_briefly(tuning.describe_shape(plan)) .. "-"
  if not folder or lfs.attributes(folder, "mode") ~= "directory" then
    return false
  end
  local is_ok, next_name, state = pcall(lfs.dir, folder) -- next_name: a message if is_ok is false
  if not is_ok then
    return false, ("%s; estimated choices are used instead"):format(escape.plain(next_name))
  end
  for name in next_name, state do
    if name:sub(1, #prefix) == prefix then
      return true
    end
  end
  return false
end

-- Sets plan.tuned by the results for this machine. Returns warnings.
function M.apply(project, plan)
  local entries, is_tuned, folder_warning = {}, has_results(plan)
  local warnings = { folder_warning }
  for _, level in ipairs(is_tuned and levels or {}) do
    local entry, warning = M.read(M.make_key(project, plan, level.name), plan)
    entries[level.name], warnings[#warnings + 1] = entry, warning
  end
  plan.tuned = tuning.derive(plan, M.read_machine(), entries)
  return warnings
end

return M
