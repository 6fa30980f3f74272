-- Controls for a calibrated bias. Each control is a bias that lacks one property of the calibrated bias; its results
-- show how much of the effect remains without this property.
--
-- Input: the lines of a family, { list = { { head, direction, index, value } }, choices } (found_lines.lua); the size
-- of the teacher's matrix, { rows, columns }; the family's name; random(n), which returns an integer from 1 to n
-- (inference.lua). Output: the lines of the control, in the same form.
--   values    the same lines with the value 0: only the mask remains
--   heads     each head gets the lines of another head, a fixed number of heads away; a single head keeps its own
--             lines. Heads of one attention are equivalent before training, so this control differs from the calibrated
--             bias only by chance
--   shifted   every line moves one key to the left. Its index becomes less by 1, or greater by 1 for anti-diagonals and
--             for columns that are counted from the right
--   random    every head and direction has as many lines as before, with the same values; the lines are sampled from
--             all lines of the matrix

local lists = require("base.lists")

local M = {}

-- Returns a copy of the list in which each line has the fields that change(line) returns. Lines that become equal are
-- merged and get the largest value.
local function change_lines(lines, change)
  local changed_lines, line_by_key = {}, {}
  for _, line in ipairs(lines) do
    local copy = lists.merge(line, change(line))
    local key = ("%d %d %d"):format(copy.head, copy.direction, copy.index)
    if not line_by_key[key] then
      line_by_key[key] = copy
      changed_lines[#changed_lines + 1] = copy
    end
    line_by_key[key].value = math.max(line_by_key[key].value, copy.value)
  end
  return changed_lines
end

-- Returns the indices of the first and the last line of a direction that have allowed cells. In a decoder's
-- self-attention, no query sees later keys, so the last diagonal is the main diagonal, index 0.
local function find_range(direction, matrix, family)
  if direction == 0 then
    return 0, matrix.columns - 1
  end
  return 1 - matrix.rows, direction == 1 and family == "decoder" and 0 or matrix.columns - 1
end

-- Gives each line in turn a random index that no earlier line of its head and direction has.
local function choose_random_lines(lines, matrix, family, random)
  local is_used = {}
  return change_lines(lines, function(line)
    local first, last = find_range(line.direction, matrix, family)
    local index
    repeat
      index = first + random(last - first + 1) - 1
      local key = ("%d %d %d"):format(line.head, line.direction, index)
      local is_free = not is_used[key]
      is_used[key] = true
    until is_free
    return { index = index }
  end)
end

-- Returns the control of this name; if the name is nil, the lines themselves. heads: the number of heads.
function M.make(name, family_lines, matrix, family, heads, random)
  local list = family_lines.list
  if name == "values" then
    list = change_lines(list, function() return { value = 0 } end)
  elseif name == "heads" then
    local shift = heads > 1 and random(heads - 1) or 0
    list = change_lines(list, function(line) return { head = (line.head + shift) % heads } end)
  elseif name == "shifted" then
    list = change_lines(list, function(line)
      local from_last = line.direction == -1 or line.direction == 0 and family_lines.choices.align == "right"
      return { index = line.index + (from_last and 1 or -1) }
    end)
  elseif name == "random" then
    list = choose_random_lines(list, matrix, family, random)
  end
  return { list = list, choices = family_lines.choices }
end

return M
