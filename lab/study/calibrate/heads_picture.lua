-- The picture of a calibration: what each head attends to on average, and the bias that its lines make.
--
-- Input: parts as findings.lua takes them, with the heads' matrices in part.matrices. Output: a gnuplot script.

local heat = require("lab.study.analyse.pictures.heat")
local lines = require("lab.study.calibrate.found_lines")
local panels = require("lab.study.analyse.pictures.panels")

local M = {}

function M.script(parts, title)
  local data, rows = {}, {}
  for _, part in ipairs(parts) do
    local before, after = { label = part.words .. ": mean attention" }, { label = part.words .. ": bias" }
    for h, head in ipairs(part.heads) do
      local name = ("%s%d"):format(part.family, h)
      before[h] = heat.open_cells(data, name .. "before", ("head %d"):format(h - 1), part.matrices[h])
      after[h] = heat.open_cells(data, name .. "after", #head.kept > 0 and ("head %d"):format(h - 1)
        or ("head %d, transparent"):format(h - 1), lines.extend(head.kept, part.rows, part.columns, part.choices,
        part.family == "decoder"))
    end
    rows[#rows + 1], rows[#rows + 2] = before, after
  end
  return panels.script({ name = "calibration", title = title, note = "queries down, keys right; closed cells are white",
    panel = 160, settings = heat.SETTINGS, data = data, rows = rows })
end

return M
