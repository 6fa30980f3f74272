-- The results of a calibration, as text and as a table.
--
-- Input: parts, one for each family: { family, words, rows, columns, choices, heads }, heads from lines.find. Output:
-- M.text gives lines of text, M.csv the file lines.csv with every line of every direction.

local lines = require("lab.study.calibrate.found_lines")
local lists = require("base.lists")
local sheets = require("lab.study.analyze.sheets")
local wording = require("base.wording")

local M = {}

local NAMES = { [1] = "diagonal", [-1] = "anti-diagonal", [0] = "column" }

local function number(value)
  return ("%.4g"):format(value)
end

local function z_of(line)
  return line.z and ("z %.2f"):format(line.z) or "z undefined"
end

local function greatest(found)
  local best
  for _, line in ipairs(found.lines) do
    best = (not best or line.value > best.value) and line or best
  end
  return best
end

-- The reason why a direction has no selected line.
local function reason(found, choices)
  local best = greatest(found)
  if found.count == 0 then
    return #found.lines == 0 and "no line has enough cells" or "all lines have the value 0"
  elseif found.alike then
    return ("all lines%s have one value"):format(choices.over == "nonzero" and " that are not 0" or "")
  elseif lines.out_of_reach(found.count, choices.threshold) then
    return ("%s are too few: z is at most %.2f; r strong lines need K > r (k^2 + 1) = %.4g r lines"):format(
      wording.count(found.count, "line"), math.sqrt(found.count - 1), choices.threshold ^ 2 + 1)
  end
  return ("of %s the greatest is %d (%s, %s)"):format(wording.count(found.count, "line"), best.line,
    number(best.value), z_of(best))
end

local function kept_text(found)
  return table.concat(lists.map(found.kept, function(line)
    return ("%d (%s, %s)"):format(line.line, number(line.raw), z_of(line))
  end), ", ")
end

local function direction_text(found, choices)
  local name = NAMES[found.direction]
  if not found.searched then
    local best = greatest(found)
    return best and ("%-14s not searched; the greatest is %d (%s, %s)"):format(name, best.line, number(best.value),
      z_of(best)) or nil
  elseif #found.kept == 0 then
    return ("%-14s none: %s"):format(name, reason(found, choices))
  end
  return ("%-14s %s, of %s; threshold %s"):format(name, kept_text(found), wording.count(found.count, "line"),
    number(found.threshold))
end

local function part_text(part)
  local choices, out = part.choices, {}
  out[1] = ("%s, %d queries and %d keys; in the first %s lines of k = %g deviations above the mean; columns "
    .. "counted from the %s"):format(part.words, part.rows, part.columns, wording.count(choices.rows or part.rows,
    "row"), choices.threshold, choices.align)
  for h, head in ipairs(part.heads) do
    local front = ("  head %-2d "):format(h - 1)
    for _, found in ipairs(head.directions) do
      local text = direction_text(found, choices)
      if text then
        out[#out + 1] = front .. text
        front = (" "):rep(#front)
      end
    end
  end
  return out
end

function M.text(parts)
  return lists.flat(parts, part_text)
end

function M.csv(parts)
  local rows = {}
  for _, part in ipairs(parts) do
    for h, head in ipairs(part.heads) do
      for found, line in lists.nested(head.directions, "lines") do
        local kept = lists.find(head.kept, function(one)
          return one.direction == found.direction and one.line == line.line
        end)
        rows[#rows + 1] = { family = part.family, head = h - 1, found = found, line = line,
          z = line.z and ("%.6g"):format(line.z), bias = kept and kept.value }
      end
    end
  end
  return sheets.csv("lines.csv", "family head direction=found.direction line=line.line cells=line.cells "
    .. "value=line.value z threshold=found.threshold bias", rows)
end

-- The number of selected lines of all heads.
function M.kept(part)
  return lists.sum(part.heads, function(head) return #head.kept end)
end

return M
