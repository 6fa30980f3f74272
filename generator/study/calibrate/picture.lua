-- The picture of a calibration: what each head attends to on average, and the bias that its lines make.
--
-- Input: parts as findings.lua takes them, with the heads' matrices in part.matrices. Output: a gnuplot script.

local heat = require("study.analyse.heat")
local lines = require("study.calibrate.lines")
local panels = require("study.analyse.panels")

local M = {}

local NAN = 0 / 0

-- Cells that are closed, or masked, are not drawn; with the least and the largest of the others.
local function drawn(matrix)
  local values, least, largest = {}, math.huge, -math.huge
  for i, value in ipairs(matrix.values) do
    local open = value > -math.huge
    values[i] = open and value or NAN
    least, largest = open and math.min(least, value) or least, open and math.max(largest, value) or largest
  end
  return values, least, largest
end

local function panel(data, name, title, matrix)
  local values, least, largest = drawn(matrix)
  local from = math.min(least, 0)
  local to = largest > from and largest or from + 1
  return heat.panel(data, name, values, matrix.rows, ("%s, %.2g to %.2g"):format(title, from, largest), { from, to })
end

function M.script(parts, title)
  local data, rows = {}, {}
  for _, part in ipairs(parts) do
    local before, after = { label = part.words .. ": mean attention" }, { label = part.words .. ": bias" }
    for h, head in ipairs(part.heads) do
      local name = ("%s%d"):format(part.family, h)
      before[h] = panel(data, name .. "before", ("head %d"):format(h - 1), part.matrices[h])
      after[h] = panel(data, name .. "after", #head.kept > 0 and ("head %d"):format(h - 1)
        or ("head %d, transparent"):format(h - 1), lines.extend(head.kept, part.rows, part.columns, part.choices,
        part.family == "decoder"))
    end
    rows[#rows + 1], rows[#rows + 2] = before, after
  end
  return panels.script({ name = "calibration", title = title, note = "queries down, keys right; closed cells are white",
    panel = 160, settings = heat.SETTINGS, data = data, rows = rows })
end

return M
