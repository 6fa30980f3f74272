-- The widest vector of any instruction set, in elements of float32: widths of values and weights are multiples of this
-- number.

local M = { WIDEST = 16 }

function M.round_up(count)
  return (count + M.WIDEST - 1) // M.WIDEST * M.WIDEST
end

return M
