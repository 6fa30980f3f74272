-- Makes, moves and deletes entries inside a folder, never through a link, which may lead to somebody else's files.
--
-- Input: the folder, and a path that begins with it. Output: true; or nil and a message, which names the link if a link
-- is in the way. The folder itself may be a link. A link at a path's end is itself moved or deleted.

local lfs = require("lfs")
local escape = require("base.escape")
local write = require("base.write")

local M = {}

-- Returns the first link on the way from the folder to a path, the path included; nil if there is none.
function M.find_link(folder, path)
  assert(path:sub(1, #folder + 1) == folder .. "/", path)
  for slash in path:gmatch("()/", #folder + 2) do
    if lfs.symlinkattributes(path:sub(1, slash - 1), "mode") == "link" then
      return path:sub(1, slash - 1)
    end
  end
  return lfs.symlinkattributes(path, "mode") == "link" and path or nil
end

function M.describe_link(link)
  return escape.plain(("%s: found a link; expected a folder, since nothing is written, moved or deleted through "
    .. "a link"):format(link))
end

-- Calls act with the paths, and returns its results. If a parent of a path is a link or behind a link, returns nil and
-- a message instead.
local function guard(act, folder, ...)
  for _, path in ipairs({ ... }) do
    local parent = path:match("^(.*)/")
    local link = #parent > #folder and M.find_link(folder, parent)
    if link then
      return nil, M.describe_link(link)
    end
  end
  return act(...)
end

function M.remove(folder, path)
  return guard(write.remove_tree, folder, path)
end

function M.remove_empty(folder, path)
  return guard(lfs.rmdir, folder, path)
end

function M.move(folder, from, to)
  return guard(os.rename, folder, from, to)
end

-- Makes a folder with its parents, unless a link is in the way. `guard` checks only the parents of a path, so it gets
-- the path of an entry in this folder; the entry need not exist.
function M.make_directory(folder, path)
  return guard(function() return write.make_directory(path) end, folder, path .. "/any")
end

-- Makes the folder for a file that will be written or appended to; removes an entry at the path that is not a file.
function M.make_parent(folder, path)
  local is_made, message = M.make_directory(folder, (path:match("^(.*)/")))
  if is_made and lfs.symlinkattributes(path, "mode") ~= "file" then
    os.remove(path)
  end
  return is_made, message
end

return M
