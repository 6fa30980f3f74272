-- What words of the command line mean.
--
-- Input: a word. Output: its value; or nil and what is wrong with it, as argparse has it.

local M = {}

function M.positive(text)
  local number = math.tointeger(tonumber(text))
  return number and number > 0 and number or nil, ("%s: not a positive integer"):format(text)
end

return M
