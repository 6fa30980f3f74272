-- The command line of `calibrate`.
--
-- Input: the parser of cli.lua. Output: none; the verb is added to it.

local converters = require("cli.converters")

local M = {}

local positive = converters.positive

function M.add(parser)
  local summary = "from a trained encoder-decoder to a student's spec: lines of its attention as constants"
  local command = parser:command("calibrate"):summary(summary)
  command:description(summary:gsub("^%l", string.upper) .. " (docs/calibration.md).")
  command:usage("Usage: longhand calibrate RUN [--out FILE] [--reading NAME] [--set FIELD=VALUE] [--samples N] ...")
  command:argument("run"):argname("RUN"):description("folder of a run, or a checkpoint in one: the teacher")
  command:option("--out"):argname("FILE"):description("the student's spec; default: <id>_calibrated.lua beside the "
    .. "teacher's where that is in spec/runs or --spec, or in the folder of the run")
  command:flag("--force"):description("overwrite a student's spec that is there")
  command:option("--reading"):choices({ "usual", "code", "equations" }):default("usual"):description("where the "
    .. "paper's code and equations part: neither throughout, or one of them")
  command:option("--set"):argname("FIELD=VALUE"):count("*"):args(1):description("one of these choices otherwise, for "
    .. "example --set rows=all; docs/calibration.md has them all")
  command:option("--samples"):argname("N"):default("1024"):convert(positive):description("training examples; those "
    .. "that come out right count")
  command:option("--seed"):argname("S"):default("1"):convert(positive):description("of the examples")
  command:option("--length"):argname("N"):convert(positive):description("task length of the examples; default: the "
    .. "longest of training")
  command:option("--positions"):choices({ "none", "keep" }):description("whether the student keeps what tells its "
    .. "teacher where tokens stand; default: none, with --init keep")
  command:flag("--init"):description("the student goes on from its teacher's parameters, and begins with none of its "
    .. "own")
  command:option("--control"):choices({ "values", "heads", "shifted", "random" }):description("not the student, but "
    .. "one to compare it with: the mask without its values, heads in another order, lines one key to the left, as "
    .. "many random lines; by --seed")
  command:option("--tables"):argname("DIR"):description("where tables and pictures go; default: calibration in the "
    .. "folder of the run")
  command:option("--spec"):argname("SPEC"):description("the spec that the run was made from; default: run.json's")
  command:option("--trainer"):argname("FILE"):description("the run's trainer; default: the one in build/trainers, "
    .. "built again where it is missing")
end

return M
