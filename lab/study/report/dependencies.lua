-- The files and folders that a computation reads, for a later check whether their contents are the same.
--
-- Input: a function. Output: M.observe returns the dependencies, { [path] = state }, and the function's results. A
-- state is a text: for a file its device, inode, size and times of change; for a listed folder the names in it; for
-- other entries their kind; for a missing entry ABSENT. M.are_unchanged compares states with the present ones.
-- Invariants: every path that passes through io.open, lfs.attributes and lfs.dir is observed, except files to write.
-- The state of an entry is taken before the function reads the entry.

local lfs = require("lfs")
local lists = require("base.lists")
local paths = require("base.paths")

local M = {}

local ABSENT = "absent"
local LISTED = "names/" -- prefix of a folder's names; a name holds no slash
local COARSEST = 2 -- seconds: the coarsest rounding of a file's times

local attributes, list, open = lfs.attributes, lfs.dir, io.open
local reused = {} -- the table that lfs.attributes fills for M.read_state

local function list_names(path, own)
  local names, prefix = {}, paths.resolve(path) .. "/"
  local is_readable = pcall(function()
    for name in list(path) do
      names[#names + 1] = not own[prefix .. name] and name or nil
    end
  end)
  table.sort(names)
  return LISTED .. (is_readable and table.concat(names, "/") or "/unreadable")
end

-- Returns the state of a path. listed: the state of a folder has the names in it, except those of entries whose
-- absolute paths are in the set `own` (nil: all names).
function M.read_state(path, listed, own)
  local found = attributes(path, reused)
  if not found then
    return ABSENT
  elseif found.mode ~= "file" then
    return listed and list_names(path, own or {}) or found.mode
  end
  return ("file %d %d %d %d %d"):format(found.dev, found.ino, found.size, found.modification, found.change)
end

local function is_listed(state)
  return state:sub(1, #LISTED) == LISTED
end

-- Calls work(...) and returns the dependencies of this call, then the results of work.
function M.observe(work, ...)
  local found = {}
  local function note(path, listed)
    local before = type(path) == "string" and found[path]
    if type(path) == "string" and (not before or listed and not is_listed(before)) then
      found[path] = M.read_state(path, listed)
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
  return found, work(...)
end

-- Adds the files of all loaded modules to the dependencies `found`.
function M.add_modules(found)
  for name in pairs(package.loaded) do
    local path = package.searchpath(name, package.path) or package.searchpath(name, package.cpath)
    if path then
      found[path] = found[path] or M.read_state(path)
    end
  end
end

-- Removes the work's own files from the dependencies `found`, also from listings. own: the set of their absolute paths.
function M.remove(found, own)
  for path, state in pairs(found) do
    if own[paths.resolve(path)] then
      found[path] = nil
    elseif is_listed(state) then
      local prefix = paths.resolve(path) .. "/"
      found[path] = LISTED .. table.concat(lists.filter(lists.find_all(state:sub(#LISTED + 1), "[^/]+"), function(name)
        return not own[prefix .. name]
      end), "/")
    end
  end
end

-- Whether all dependencies have the same states now. own: as in M.remove.
function M.are_unchanged(found, own)
  for path, state in pairs(found) do
    if M.read_state(path, is_listed(state), own) ~= state then
      return false
    end
  end
  return true
end

-- Whether the last change of every file was more than COARSEST seconds before a time. Later changes are not safe: if a
-- file changes twice within the same second and keeps its number of bytes, both versions have the same state.
function M.are_settled(found, time)
  for _, state in pairs(found) do
    local modification, change = state:match("^file %d+ %d+ %d+ (-?%d+) (-?%d+)$")
    if modification and math.max(tonumber(modification), tonumber(change)) + COARSEST >= time then
      return false
    end
  end
  return true
end

return M
