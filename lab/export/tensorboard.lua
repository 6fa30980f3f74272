-- Exports runs as event files of TensorBoard. Python writes them (python/longhand/events.py).
--
-- Input: { project, runs (a folder), out (the output folder, or nil), follow (whether to go on while runs train) }.
-- Output: an exit code, and a message unless Python has printed it.

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
  local python, package_path = os.getenv("LONGHAND_PYTHON") or "python3", options.project.root .. "/python"
  local python_path = os.getenv("PYTHONPATH") or ""
  python_path = package_path .. (python_path ~= "" and ":" .. python_path or "")
  local code = shell.run({ "env", "PYTHONPATH=" .. python_path, python, "-m", "longhand.events", options.runs, out,
    options.follow and "--follow" or nil })
  if code == NO_COMMAND then
    return ENVIRONMENT, ("there is no %s\n  expected: Python 3.9 or later; LONGHAND_PYTHON can name another Python")
      :format(python)
  end
  return code
end

return M
