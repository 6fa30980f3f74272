-- Biases to compare a calibrated one with: what remains of its effect when one thing about it is wrong.
--
-- Input: the lines of a family, { list = { { head, direction, line, value } }, choices }, the teacher's matrix { rows,
-- columns }, the family's name, `drawing` of inference.lua. Output: the lines of the control, in the same form; the
-- lists that come in are left alone.
--   values    the lines, all with the value 0: the mask alone
--   heads     each head's lines, given to another, all so many heads further on. Heads of one attention are alike
--             before training, so a difference from the calibrated bias is chance; one head alone keeps its own
--   shifted   every line one key to the left
--   random    as many lines in every head and direction, with the same values, drawn from all that the matrix has

local M = {}

M.NAMES = { "values", "heads", "shifted", "random" }

local function with(line, fields)
  local copy = {}
  for _, from in ipairs({ line, fields }) do
    for name, value in pairs(from) do
      copy[name] = value
    end
  end
  return copy
end

-- The list with each line changed; lines that are the same then are one, of the larger value.
local function each(list, change)
  local changed, at = {}, {}
  for i, line in ipairs(list) do
    local copy = with(line, change(line, i))
    local key = ("%d %d %d"):format(copy.head, copy.direction, copy.line)
    if not at[key] then
      at[key] = copy
      changed[#changed + 1] = copy
    end
    at[key].value = math.max(at[key].value, copy.value)
  end
  return changed
end

-- The step of a line's number that moves its cells one key to the left: lines are counted from the last key where
-- columns are, and in anti-diagonals.
local function leftward(direction, choices)
  return (direction == -1 or direction == 0 and choices.align == "right") and 1 or -1
end

-- First and last line of a direction with a cell that the family may open: self-attention sees nothing behind itself.
local function range_of(direction, matrix, family)
  if direction == 0 then
    return 0, matrix.columns - 1
  end
  return 1 - matrix.rows, direction == 1 and family == "decoder" and 0 or matrix.columns - 1
end

-- Each line in turn in a place that no other of its head and direction has.
local function drawn(list, matrix, family, drawing)
  local taken = {}
  return each(list, function(line)
    local first, last = range_of(line.direction, matrix, family)
    local place
    repeat
      place = first + drawing(last - first + 1) - 1
      local key = ("%d %d %d"):format(line.head, line.direction, place)
      local free = not taken[key]
      taken[key] = true
    until free
    return { line = place }
  end)
end

function M.of(name, part, matrix, family, heads, drawing)
  local list = part.list
  if name == "values" then
    list = each(list, function()
      return { value = 0 }
    end)
  elseif name == "heads" then
    local shift = heads > 1 and drawing(heads - 1) or 0
    list = each(list, function(line)
      return { head = (line.head + shift) % heads }
    end)
  elseif name == "shifted" then
    list = each(list, function(line)
      return { line = line.line + leftward(line.direction, part.choices) }
    end)
  elseif name == "random" then
    list = drawn(list, matrix, family, drawing)
  end
  return { list = list, choices = part.choices }
end

return M
