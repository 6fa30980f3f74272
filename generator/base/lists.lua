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

-- A new list of the items of both, in this order.
function M.join(first, second)
  return table.move(second, 1, #second, #first + 1, table.move(first, 1, #first, 1, {}))
end

-- The names of things that have one.
function M.names(list)
  local names = {}
  for i, one in ipairs(list) do
    names[i] = one.name
  end
  return names
end

return M
