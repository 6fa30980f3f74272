-- Functions for lists and tables of plain data.

local M = {}

function M.has(list, value)
  return M.any(list, function(item) return item == value end)
end

-- Appends the items of another list to a list and returns the list.
function M.append(list, items)
  return table.move(items, 1, #items, #list + 1, list)
end

-- A new list of the items of both lists, in this order.
function M.join(list_a, list_b)
  return M.append(table.move(list_a, 1, #list_a, 1, {}), list_b)
end

-- The items as a set: a table with true for each item.
function M.to_set(list)
  local set = {}
  for _, item in ipairs(list) do
    set[item] = true
  end
  return set
end

-- A table with each item under its key. get_key(item): returns the key of an item.
function M.index_by(list, get_key)
  local items = {}
  for _, item in ipairs(list) do
    items[get_key(item)] = item
  end
  return items
end

-- The words of a text as a set.
function M.split_set(text)
  return M.to_set(M.find_all(text, "%S+"))
end

-- Copies the fields of `source` into `target` and returns `target`.
function M.update(target, source)
  for name, value in next, source do
    target[name] = value
  end
  return target
end

-- A new table with the fields of all given tables; if several have a field, the last table wins.
function M.merge(...)
  local result = {}
  for _, source in ipairs({ ... }) do
    M.update(result, source)
  end
  return result
end

-- A copy of plain data that shares no table with the original.
function M.copy(value)
  if type(value) ~= "table" then
    return value
  end
  local result = {}
  for key, field in next, value do
    result[key] = M.copy(field)
  end
  return result
end

-- The value at a path, which is names separated by dots; nil also if a table of the path is missing.
function M.get(value, path)
  for name in path:gmatch("[^%.]+") do
    if type(value) ~= "table" then
      return nil
    end
    value = value[name]
  end
  return value
end

-- The results of compute(item, index) for the items, in order; results that are nil are left out.
function M.map(list, compute)
  local results = {}
  for i, item in ipairs(list) do
    results[#results + 1] = compute(item, i)
  end
  return results
end

-- The first item for which fits(item) is true; nil if there is none.
function M.find(list, fits)
  for _, item in ipairs(list) do
    if fits(item) then
      return item
    end
  end
end

-- The least number of items after which a list repeats itself; the last repetition may end early.
function M.find_period(list)
  local function repeats_after(period)
    for i = period + 1, #list do
      if list[i] ~= list[i - period] then
        return false
      end
    end
    return true
  end
  for period = 1, #list do
    if repeats_after(period) then
      return period
    end
  end
end

-- The first result of compute(item) that is neither nil nor false; false if there is none.
function M.any(list, compute)
  for _, item in ipairs(list) do
    local result = compute(item)
    if result then
      return result
    end
  end
  return false
end

function M.sum(list, compute)
  local sum = 0
  for _, item in ipairs(list) do
    sum = sum + compute(item)
  end
  return sum
end

-- The largest result of compute(item) for the items; 0 if there are no items or all results are negative.
function M.max(list, compute)
  return math.max(0, table.unpack(M.map(list, compute)))
end

function M.filter(list, fits)
  return M.map(list, function(item) return fits(item) and item or nil end)
end

function M.count(list, fits)
  return #M.filter(list, fits)
end

-- The matches of a pattern, or of its one capture, in a text, in order.
function M.find_all(text, pattern)
  local results = {}
  for match in text:gmatch(pattern) do
    results[#results + 1] = match
  end
  return results
end

-- The lists that compute(item) returns for the items, joined into one list.
function M.collect(list, compute)
  local results = {}
  for _, item in ipairs(list) do
    M.append(results, compute(item))
  end
  return results
end

-- Lists of the items with equal keys, in the order of each key's first item. get_key(item): returns the key of an item.
-- Each list also has its key as the field `key`.
function M.group(list, get_key)
  local groups, by_key = {}, {}
  for _, item in ipairs(list) do
    local key = get_key(item)
    if not by_key[key] then
      by_key[key] = { key = key }
      groups[#groups + 1] = by_key[key]
    end
    table.insert(by_key[key], item)
  end
  return groups
end

-- Appends an item to the list map[key]; makes the list if it is missing.
function M.append_to(map, key, item)
  map[key] = map[key] or {}
  table.insert(map[key], item)
end

-- The items, each once, in the order of their first occurrences.
function M.drop_repeats(list)
  return M.map(M.group(list, function(item) return item end), function(group) return group.key end)
end

-- Iterates over nested lists: each item of `list` has a list in its field `key`; each iteration gives an item and an
-- item of this inner list.
function M.iterate_nested(list, key)
  return coroutine.wrap(function()
    for _, outer in ipairs(list) do
      for _, inner in ipairs(outer[key]) do
        coroutine.yield(outer, inner)
      end
    end
  end)
end

-- The names of the items that have a name.
function M.get_names(list)
  return M.map(list, function(item) return item.name end)
end

return M
