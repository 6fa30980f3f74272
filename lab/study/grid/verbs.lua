-- The verbs that make a spec of a finished run, as the stages of a study name them.
--
-- Each has `options`, the names that it takes, `flags`, those that it takes without a value, and `folder`, the option
-- that says where its other files go, if it has any. Its command line is `./longhand <verb> RUN --out FILE` with
-- `--<option> <value>` for each option, and for each value where that is a list, and `--<flag>` for each flag. It
-- leaves FILE, a spec, whole or not at all; where it does not, its output says why.

local M = {}

M.VERBS = {
  calibrate = { options = { "control", "length", "positions", "reading", "samples", "seed", "set" },
    flags = { "init" }, folder = "tables" },
}

return M
