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

-- Appends the items of another list to a list and returns the list.
function M.append(list, more)
  return table.move(more, 1, #more, #list + 1, list)
end

-- A new list of the items of both lists, in this order.
function M.join(first, second)
  return M.append(table.move(first, 1, #first, 1, {}), second)
end

-- The items as a set: true by item.
function M.set(list)
  local set = {}
  for _, item in ipairs(list) do
    set[item] = true
  end
  return set
end

-- The items by key, where a function gives the key of each item.
function M.by(list, key_of)
  local items = {}
  for _, item in ipairs(list) do
    items[key_of(item)] = item
  end
  return items
end

-- The words of a text as a set: true by word.
function M.words(text)
  return M.set(M.matches(text, "%S+"))
end

-- Sets the fields of another table in a table and returns the table.
function M.update(into, from)
  for name, value in next, from do
    into[name] = value
  end
  return into
end

-- A new table with the fields of all given tables; if several have a field, the last table wins.
function M.merged(...)
  local new = {}
  for _, each in ipairs({ ... }) do
    M.update(new, each)
  end
  return new
end

-- A copy of plain data that shares no table with the original.
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

-- The value at a path of names; nil also if a table of the path is missing.
function M.at(value, path)
  for name in path:gmatch("[^%.]+") do
    if type(value) ~= "table" then
      return nil
    end
    value = value[name]
  end
  return value
end

-- The results of a function of (item, index), in order; results that are nil are left out.
function M.map(list, of)
  local results = {}
  for i, item in ipairs(list) do
    results[#results + 1] = of(item, i)
  end
  return results
end

-- The first item for which a predicate is true; nil if there is none.
function M.find(list, fits)
  for _, item in ipairs(list) do
    if fits(item) then
      return item
    end
  end
end

-- The first result of a function of an item that is neither nil nor false; otherwise false.
function M.any(list, of)
  for _, item in ipairs(list) do
    local found = of(item)
    if found then
      return found
    end
  end
  return false
end

function M.sum(list, of)
  local sum = 0
  for _, item in ipairs(list) do
    sum = sum + of(item)
  end
  return sum
end

-- The largest value of a function over the items, at least 0.
function M.most(list, of)
  return math.max(0, table.unpack(M.map(list, of)))
end

-- The items for which a predicate is true.
function M.filter(list, fits)
  return M.map(list, function(item) return fits(item) and item or nil end)
end

function M.count(list, fits)
  return #M.filter(list, fits)
end

-- The matches of a pattern, or of its one capture, in a text, in order.
function M.matches(text, pattern)
  local results = {}
  for one in text:gmatch(pattern) do
    results[#results + 1] = one
  end
  return results
end

-- The items of all lists that a function returns for the items, in one list.
function M.flat(list, of)
  local results = {}
  for _, item in ipairs(list) do
    M.append(results, of(item))
  end
  return results
end

-- Lists of the items with equal keys (a function of an item), in the order of each key's first item.
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

-- Appends an item to the list that a table of lists has under a key.
function M.enter(map, key, item)
  map[key] = map[key] or {}
  table.insert(map[key], item)
end

-- A list without repeated items.
function M.distinct(list)
  return M.map(M.group(list, function(item) return item end), function(group) return group.key end)
end

-- Iterates over the lists that items have in their field `key`: (item, item of its list).
function M.nested(list, key)
  return coroutine.wrap(function()
    for _, outer in ipairs(list) do
      for _, inner in ipairs(outer[key]) do
        coroutine.yield(outer, inner)
      end
    end
  end)
end

-- The names of the items that have a name.
function M.names(list)
  return M.map(list, function(one) return one.name end)
end

return M
