-- The files and folders that a computation reads, for a later check whether their contents are the same.
--
-- Input: a function. Output: M.observe returns the dependencies, { [path] = state }, and the function's results.
-- A state is a text:
--   of a file            its device, inode, size and times of change
--   of a listed folder   the names in the folder
--   of another entry     its kind
--   of a missing entry   ABSENT
-- Invariants: M.observe notes each path that the function gives to io.open, lfs.attributes or lfs.dir, except files to
-- write. The noted state is from before the function reads the entry.

local lfs = require("lfs")
local lists = require("base.lists")
local paths = require("base.paths")

local M = {}

local ABSENT = "absent"
local NAMES_PREFIX = "names/" -- begins the state of a listed folder; slashes separate the names in the folder
local MAX_ROUNDING = 2 -- seconds: the coarsest rounding of a file's times

-- The original functions, since M.observe replaces them for a time.
local attributes, list, open = lfs.attributes, lfs.dir, io.open
local attributes_buffer = {} -- the table that lfs.attributes fills for M.read_state

local function list_names(path, own_paths)
  local names, prefix = {}, paths.resolve(path) .. "/"
  local is_readable = pcall(function()
    for name in list(path) do
      names[#names + 1] = not own_paths[prefix .. name] and name or nil
    end
  end)
  table.sort(names)
  return NAMES_PREFIX .. (is_readable and table.concat(names, "/") or "/unreadable")
end

-- Returns the state of a path.
--   with_names   whether the state of a folder lists the names in the folder
--   own_paths    the absolute paths of entries that are not listed, as a set; nil: all entries are listed
function M.read_state(path, with_names, own_paths)
  local entry = attributes(path, attributes_buffer)
  if not entry then
    return ABSENT
  elseif entry.mode ~= "file" then
    return with_names and list_names(path, own_paths or {}) or entry.mode
  end
  return ("file %d %d %d %d %d"):format(entry.dev, entry.ino, entry.size, entry.modification, entry.change)
end

local function is_listed(state)
  return state:sub(1, #NAMES_PREFIX) == NAMES_PREFIX
end

-- Calls work(...) and returns the dependencies of this call, then the results of work.
function M.observe(work, ...)
  local dependencies = {}
  local function note(path, with_names)
    local previous = type(path) == "string" and dependencies[path]
    if type(path) == "string" and (not previous or with_names and not is_listed(previous)) then
      dependencies[path] = M.read_state(path, with_names)
    end
  end
  lfs.attributes = function(path, ...)
    note(path)
    return attributes(path, ...)
  end
  lfs.dir = function(path)
    note(path, true)
    return list(path)
  end
  rawset(io, "open", function(path, mode)
    if not mode or mode:find("^rb?$") then
      note(path)
    end
    return open(path, mode)
  end)
  local _ <close> = setmetatable({}, { __close = function()
    lfs.attributes, lfs.dir = attributes, list
    rawset(io, "open", open)
  end })
  return dependencies, work(...)
end

-- Adds the files of all loaded modules to the dependencies.
function M.add_modules(dependencies)
  for name in pairs(package.loaded) do
    local path = package.searchpath(name, package.path) or package.searchpath(name, package.cpath)
    if path then
      dependencies[path] = dependencies[path] or M.read_state(path)
    end
  end
end

-- Removes the files that the computation itself wrote from the dependencies and from the states of listed folders.
-- own_paths: the absolute paths of these files, as a set.
function M.remove(dependencies, own_paths)
  for path, state in pairs(dependencies) do
    if own_paths[paths.resolve(path)] then
      dependencies[path] = nil
    elseif is_listed(state) then
      local prefix = paths.resolve(path) .. "/"
      local names = lists.find_all(state:sub(#NAMES_PREFIX + 1), "[^/]+")
      dependencies[path] = NAMES_PREFIX .. table.concat(lists.filter(names, function(name)
        return not own_paths[prefix .. name]
      end), "/")
    end
  end
end

-- Whether all dependencies have the same states now. own_paths: as in M.remove.
function M.are_unchanged(dependencies, own_paths)
  for path, state in pairs(dependencies) do
    if M.read_state(path, is_listed(state), own_paths) ~= state then
      return false
    end
  end
  return true
end

-- Whether every file was last changed more than MAX_ROUNDING seconds before a time. If a file changes twice within
-- MAX_ROUNDING seconds and keeps its size, both versions can have the same state.
function M.are_settled(dependencies, time)
  for _, state in pairs(dependencies) do
    local modification, change = state:match("^file %d+ %d+ %d+ (-?%d+) (-?%d+)$")
    if modification and math.max(tonumber(modification), tonumber(change)) + MAX_ROUNDING >= time then
      return false
    end
  end
  return true
end

return M
