-- Programs of runtime/tools, which analyses leave to C what takes too long here.
--
-- Input: a project, a folder for temporary files, a program's name, what it needs beside a compiler. Output: its path,
-- made where it is missing or old; or nil, an exit code and a message.

local shell = require("base.shell")
local write = require("base.write")

local M = {}

local ENVIRONMENT = 4

-- need: { what, expected } for the message where it cannot be made.
function M.path(project, folder, name, need)
  local log, path = folder .. "/make.log", project:build_path("tools/" .. name)
  local code = shell.run(shell.make(project.root, project:build_setting(), project:build_goal("tools/" .. name)),
    { output = log, errors_too = true })
  if code ~= 0 then
    return nil, ENVIRONMENT, ("%s, which this analysis needs, cannot be made:\n%s  expected: %s"):format(need.what,
      write.read(log) or "", need.expected)
  end
  return path
end

return M
