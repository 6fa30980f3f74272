-- The command line of `calibrate`.
--
-- Input: the parser of cli.lua. Output: none; the verb is added to it.

local options = require("cli.options")
local positive = require("cli.converters").positive

local M = {}

function M.add(parser)
  local summary = "from a trained encoder-decoder to a student's spec: lines of its attention as constants"
  local command = parser:command("calibrate"):summary(summary)
  command:description(summary:gsub("^%l", string.upper) .. " (docs/calibration.md).")
  command:usage("Usage: longhand calibrate RUN [--out FILE] [--reading NAME] [--set FIELD=VALUE] [--samples N] ...")
  command:argument("run", "folder of a run, or a checkpoint in one: the teacher"):argname("RUN")
  options.add(command, {
    { "--out FILE", "the student's spec; default: <id>_calibrated.lua, next to a teacher's spec in spec/runs "
      .. "or --spec, or in the folder of the run" },
    { "--force", "overwrite a student's spec that is there" },
    { "--reading", "where the paper's code and equations part: neither throughout, or one of them", default = "usual",
      choices = { "usual", "code", "equations" } },
    { "--set FIELD=VALUE", "one of these choices otherwise, for example --set rows=all; docs/calibration.md has them "
      .. "all", count = "*", args = 1 },
    { "--samples N", "training examples; those with right answers count", default = "1024", convert = positive },
    { "--seed S", "of the examples", default = "1", convert = positive },
    { "--length N", "task length of the examples; default: the longest of training", convert = positive },
    { "--positions", "whether the student keeps what tells its teacher where tokens stand; default: none, with --init "
      .. "keep", choices = { "none", "keep" } },
    { "--init", "the student goes on from its teacher's parameters, and begins with none of its own" },
    { "--control", "not the student, but one to compare it with: the mask without its values, heads in another order, "
      .. "lines one key to the left, as many random lines; by --seed",
      choices = { "values", "heads", "shifted", "random" } },
    { "--tables DIR", "where tables and pictures go; default: calibration in the folder of the run" },
    { "--spec SPEC", "the spec that the run was made from; default: run.json's" },
    options.trainer("the run's"),
  })
end

return M
