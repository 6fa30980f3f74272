-- What words of the command line mean.
--
-- Input: a word. Output: its value; or nil and what is wrong with it, as argparse has it.

local M = {}

function M.positive(text)
  local number = math.tointeger(tonumber(text))
  return number and number > 0 and number or nil, ("%s: not a positive integer"):format(text)
end

-- A list of task lengths, as a trainer's --lengths takes it.
function M.lengths(text)
  return text:find("^%d[%d,:x]*$") and text or nil, ("%s: expected lengths, as in 20,40"):format(text)
end

return M
