-- Runs gnuplot on scripts.
--
-- Input: a folder and the names of the scripts in it, without their ending. Output: the text of each SVG by name, or
-- nil and what is wrong; the pictures are in the folder.

local shell = require("shell")
local write = require("write")

local M = {}

local function has_gnuplot()
  return shell.run({ "sh", "-c", "command -v gnuplot >/dev/null 2>&1" }) == 0
end

function M.run(folder, names)
  local pictures = {}
  if #names == 0 then
    return pictures
  elseif not has_gnuplot() then
    return nil, "gnuplot is not installed; everything but the pictures is written"
  end
  for _, name in ipairs(names) do
    local code = shell.run({ "sh", "-c", 'cd "$1" && LC_ALL=C.UTF-8 gnuplot "$2.gnuplot"', "sh", folder, name })
    local svg = code == 0 and write.read(("%s/%s.svg"):format(folder, name))
    if not svg then
      return nil, ("gnuplot failed on %s/%s.gnuplot; everything but the pictures is written"):format(folder, name)
    end
    pictures[name] = svg
  end
  return pictures
end

return M
