-- Questions about lists and tables of plain data.

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

-- A copy of plain data that shares no table with it.
function M.copy(value)
  if type(value) ~= "table" then
    return value
  end
  local new = {}
  for key, inner in next, value do
    new[key] = M.copy(inner)
  end
  return new
end

-- The value at a path of names; nil also where a table on the way is missing.
function M.at(value, path)
  for name in path:gmatch("[^%.]+") do
    if type(value) ~= "table" then
      return nil
    end
    value = value[name]
  end
  return value
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
