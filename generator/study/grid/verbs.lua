-- The verbs that make a spec of a finished run, as the stages of a study name them.
--
-- Each has `options`, the names that it takes. Its command line is `./longhand <verb> RUN --out FILE` with `--<option>
-- <value>` for each option, underscores as hyphens. It leaves FILE, a spec, whole or not at all, and ends with 0;
-- whatever else it ends with, nothing can build upon it, and its output says why.

local M = {}

M.VERBS = {}

return M
