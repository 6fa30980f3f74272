-- The user's own cache: LONGHAND_CACHE, or longhand in the user's cache folder.
--
-- Input: the name of a folder in it. Output: its path; nil where there is none to be had.

local M = {}

function M.folder(name)
  local given, cache, home = os.getenv("LONGHAND_CACHE"), os.getenv("XDG_CACHE_HOME"), os.getenv("HOME")
  if given and given ~= "" then
    return given .. "/" .. name
  elseif cache and cache:sub(1, 1) == "/" then
    return cache .. "/longhand/" .. name
  end
  return home and home:sub(1, 1) == "/" and home .. "/.cache/longhand/" .. name or nil
end

return M
