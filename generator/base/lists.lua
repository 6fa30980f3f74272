-- Lists and tables of plain data.

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

-- The results of a function of (item, index), in order; items for which it gives nil are left out.
function M.map(list, of)
  local results = {}
  for i, item in ipairs(list) do
    results[#results + 1] = of(item, i)
  end
  return results
end

-- The names of things that have one.
function M.names(list)
  return M.map(list, function(one) return one.name end)
end

return M
