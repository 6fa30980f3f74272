-- Questions about lists.

local M = {}

function M.has(list, value)
  for _, one in ipairs(list) do
    if one == value then
      return true
    end
  end
  return false
end

return M
