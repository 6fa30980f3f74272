-- The command line of `calibrate`.
--
-- Input: the parser of cli.lua. Output: none; the verb is added to it.

local options = require("cli.options")
local positive = require("cli.converters").positive

local M = {}

function M.add(parser)
  local summary = "write a student's spec from a trained encoder-decoder, with lines of its attention as constants"
  local command = parser:command("calibrate"):summary(summary)
  command:description(summary:gsub("^%l", string.upper) .. " (docs/calibration.md).")
  command:usage("Usage: longhand calibrate RUN [--out FILE] [--reading NAME] [--set FIELD=VALUE] [--samples N] ...")
  command:argument("run", "folder of the teacher's run, or a checkpoint in it"):argname("RUN")
  options.add(command, {
    { "--out FILE", "file of the student's spec; default: <id>_calibrated.lua, next to the teacher's spec if that is "
      .. "in spec/runs or given by --spec, otherwise in the folder of the run" },
    { "--force", "overwrite an existing file of the student's spec" },
    { "--reading", "choices where the paper's code and equations differ: as in the code, as in the equations, or "
      .. "usual, a mixture of both", default = "usual",
      choices = { "usual", "code", "equations" } },
    { "--set FIELD=VALUE", "change one of these choices, for example --set rows=all; docs/calibration.md lists all of "
      .. "them", count = "*", args = 1 },
    { "--samples N", "number of training examples; only examples that the teacher answers correctly "
      .. "count", default = "1024", convert = positive },
    { "--seed S", "seed of the examples", default = "1", convert = positive },
    { "--length N", "task length of the examples; default: the longest training length", convert = positive },
    { "--positions", "whether the student keeps the teacher's encoding of positions; default: none, or keep with "
      .. "--init", choices = { "none", "keep" } },
    { "--init", "the student starts from the teacher's parameters instead of random initial values" },
    { "--control", "write a control for comparison instead of the student: values: the mask without its constants; "
      .. "heads: heads in another order; shifted: lines one key to the left; random: the same number of random lines, "
      .. "by --seed",
      choices = { "values", "heads", "shifted", "random" } },
    { "--tables DIR", "folder of tables and pictures; default: calibration in the folder of the run" },
    { "--spec SPEC", "the spec of the run; default: the spec in run.json" },
    options.trainer("the run's"),
  })
end

return M
