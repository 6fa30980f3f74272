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

-- Adds the items of another list behind those of a list, which is returned.
function M.append(list, more)
  return table.move(more, 1, #more, #list + 1, list)
end

-- A new list of the items of both, in this order.
function M.join(first, second)
  return M.append(table.move(first, 1, #first, 1, {}), second)
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

-- The first item that a function of it says yes to; nil where there is none.
function M.find(list, fits)
  for _, item in ipairs(list) do
    if fits(item) then
      return item
    end
  end
end

-- How many items a function of them says yes to.
function M.count(list, fits)
  return #M.map(list, function(item) return fits(item) and true or nil end)
end

-- Lists of the items that have the same `key`, a function of them, in the order in which the keys are met.
function M.group(list, key_of)
  local groups, at = {}, {}
  for _, item in ipairs(list) do
    local key = key_of(item)
    if not at[key] then
      at[key] = { key = key }
      groups[#groups + 1] = at[key]
    end
    table.insert(at[key], item)
  end
  return groups
end

-- A list without the items that are in it before.
function M.distinct(list)
  return M.map(M.group(list, function(item) return item end), function(group) return group.key end)
end

-- The names of things that have one.
function M.names(list)
  return M.map(list, function(one) return one.name end)
end

return M
