-- Exports runs as event files of TensorBoard. Python writes them (python/longhand/events.py).
--
-- Input: { project, runs, out, follow }. Output: an exit code and, for an error found here, a message.

local lfs = require("lfs")
local must = require("lab.stop").must
local shell = require("base.shell")
local write = require("base.write")

local M = {}

local INPUT, ENVIRONMENT, NO_COMMAND = 1, 4, 127

function M.run(options)
  must(INPUT, lfs.attributes(options.runs, "mode") == "directory",
    ("there is no folder %s\n  expected: a folder of runs"):format(options.runs))
  local out = must(INPUT, write.choose_folder(options.runs, "tensorboard", options.out))
  local python, path = os.getenv("LONGHAND_PYTHON") or "python3", options.project.root .. "/python"
  local others = os.getenv("PYTHONPATH") or ""
  local code = shell.run({ "env", "PYTHONPATH=" .. path .. (others ~= "" and ":" .. others or ""), python, "-m",
    "longhand.events", options.runs, out, options.follow and "--follow" or nil })
  if code == NO_COMMAND then
    return ENVIRONMENT, ("there is no %s\n  expected: Python 3.9 or later; LONGHAND_PYTHON names another"):format(
      python)
  end
  return code
end

return M
