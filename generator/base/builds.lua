-- The folder of builds. It is the first of these that is possible:
--   LONGHAND_BUILD
--   `build` in the checkout, if this user may write there
--   a folder for this checkout in the user's cache, so that a read-only installed copy can serve many users
--
-- Input: the repository's root. Output: a path for make (M.find); callers check whether the folder can be written.

local lfs = require("lfs")
local paths = require("base.paths")
local sha256 = require("base.sha256")
local shell = require("base.shell")
local escape = require("base.escape")

local M = {}

local CHECKOUT_FOLDER = "build"

local function read_requested_folder()
  local folder = os.getenv("LONGHAND_BUILD")
  return folder ~= "" and folder or nil
end

-- The folder that is passed to make, which runs in the root: an absolute path, or one relative to the root.
function M.find(root)
  if read_requested_folder() then
    return paths.resolve(read_requested_folder())
  end
  local checkout_folder = root .. "/" .. CHECKOUT_FOLDER
  local exists = lfs.attributes(checkout_folder, "mode") == "directory"
  local can_write = shell.run({ "sh", "-c", '[ -w "$1" ]', "sh", exists and checkout_folder or root }) == 0
  if can_write then
    return CHECKOUT_FOLDER
  end
  return paths.find_cache("build-" .. sha256.digest(paths.resolve(root))) or CHECKOUT_FOLDER
end

-- A message if make cannot handle the name of the folder of builds, or nil.
function M.find_problem(root)
  local folder = M.find(root)
  if folder ~= CHECKOUT_FOLDER and not escape.make(folder) then
    local is_requested = read_requested_folder() ~= nil
    return ("%s: make cannot handle this folder's name: %s; expected %s%s"):format(is_requested and "LONGHAND_BUILD"
      or "the user's cache (LONGHAND_CACHE, XDG_CACHE_HOME, HOME)", escape.plain(folder), escape.MAKE_TEXT,
      is_requested and "" or "; LONGHAND_BUILD names another build folder")
  end
end

return M
