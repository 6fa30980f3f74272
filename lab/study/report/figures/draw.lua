-- Runs gnuplot on scripts in a temporary folder, since a link in the folder of results may lead to another folder.
--
-- Input: files { path, text }, the scripts and their data, and the names of the scripts without .gnuplot. Output: the
-- pictures as files; or nil and an error.

local lists = require("base.lists")
local shell = require("base.shell")
local write = require("base.write")

local M = {}

local function draw(folder, files, names)
  local written, message = write.files(folder, files)
  if not written then
    return nil, message
  end
  local drawn = {}
  for _, name in ipairs(names) do
    -- -d: a report ignores the user's gnuplot settings and any .gnuplot file.
    local code = shell.run({ "sh", "-c", 'cd "$1" && LC_ALL=C.UTF-8 gnuplot -d "$2.gnuplot"', "sh", folder, name })
    local svg = code == 0 and write.read(("%s/%s.svg"):format(folder, name))
    local png = svg and write.read(("%s/%s.png"):format(folder, name))
    if not png then
      return nil, ("gnuplot failed on %s.gnuplot; everything but the pictures is written"):format(name)
    end
    lists.append(drawn, { { path = name .. ".svg", text = svg }, { path = name .. ".png", text = png } })
  end
  return drawn
end

function M.run(files, names)
  if #names == 0 then
    return {}
  elseif shell.run({ "sh", "-c", "command -v gnuplot >/dev/null 2>&1" }) ~= 0 then
    return nil, "gnuplot is not installed; everything but the pictures is written"
  end
  local folder, message = shell.temporary()
  if not folder then
    return nil, message
  end
  local drawn, problem = draw(folder, files, names)
  write.remove_tree(folder)
  return drawn, problem
end

-- Appends the pictures to the files. Returns an error, or nil.
function M.add(files, names)
  local drawn, problem = M.run(files, names)
  lists.append(files, drawn or {})
  return problem
end

return M
