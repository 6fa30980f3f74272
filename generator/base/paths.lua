-- Paths and the names of files in a folder.
--
-- Input and output: paths as text. Reads folders, no files.

local lfs = require("lfs")
local lists = require("base.lists")
local write = require("base.write")

local M = {}

-- Simplifies a path: removes ".", ".." and doubled slashes where possible; "" for the current folder.
function M.normalise(path)
  local components = {}
  for component in path:gmatch("[^/]+") do
    if component == ".." and #components > 0 and components[#components] ~= ".." then
      table.remove(components)
    elseif component ~= "." and not (component == ".." and path:sub(1, 1) == "/") then
      components[#components + 1] = component
    end
  end
  return (path:sub(1, 1) == "/" and "/" or "") .. table.concat(components, "/")
end

-- An absolute path of the same file. Its ".." remain: after a link their meaning depends on the link.
function M.make_absolute(path)
  return path:sub(1, 1) == "/" and path or lfs.currentdir() .. "/" .. path
end

function M.resolve(path)
  return M.normalise(M.make_absolute(path))
end

-- The folder `name` in LONGHAND_CACHE, else in longhand/ of XDG_CACHE_HOME, else in .cache/longhand/ of HOME;
-- XDG_CACHE_HOME and HOME are ignored unless they are absolute. Returns nil if all three are unset or ignored.
function M.find_cache(name)
  local folder, cache, home = os.getenv("LONGHAND_CACHE"), os.getenv("XDG_CACHE_HOME"), os.getenv("HOME")
  if folder and folder ~= "" then
    return folder .. "/" .. name
  elseif cache and cache:sub(1, 1) == "/" then
    return cache .. "/longhand/" .. name
  end
  return home and home:sub(1, 1) == "/" and home .. "/.cache/longhand/" .. name or nil
end

-- The path that leads from an absolute folder to an absolute path, such as "./a" or "../../a".
function M.make_relative(path, folder)
  local path_names, folder_names = lists.find_all(path, "[^/]+"), lists.find_all(folder, "[^/]+")
  local shared_count = 0
  while shared_count < #folder_names and shared_count < #path_names - 1
    and path_names[shared_count + 1] == folder_names[shared_count + 1] do
    shared_count = shared_count + 1
  end
  return (shared_count == #folder_names and "./" or ("../"):rep(#folder_names - shared_count))
    .. table.concat(path_names, "/", shared_count + 1)
end

-- The path of a file below an absolute folder, relative to the folder; nil for other files.
function M.remove_folder(path, folder)
  local prefix = folder == "/" and "/" or folder .. "/"
  return path:sub(1, #prefix) == prefix and path:sub(#prefix + 1) or nil
end

function M.get_folder(path)
  return path:match("^(.*)/[^/]*$") or "."
end

-- Base names, without the ending, of the files in a folder; sorted.
function M.list_base_names(path, ending)
  local names = lists.map(write.list_names(path), function(name)
    return #name > #ending and name:sub(-#ending) == ending and name:sub(1, -#ending - 1) or nil
  end)
  table.sort(names)
  return names
end

return M
