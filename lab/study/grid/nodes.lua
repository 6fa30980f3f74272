-- Reads nodes of a study's file (tables, lists, names of values, seeds) and reports invalid nodes.
--
-- Input: a context { diagnostics }; a node (spec/reading/tree.lua); path, the place of the node in the file, such as
-- axes[1].name; expected, words for messages; legal, a list of allowed words. Output: the contents of the node. After
-- an error, which is added to the diagnostics, the output is a value with which the caller can continue.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local similar_names = require("base.similar_names")
local seeds_module = require("lab.study.read.seeds")
local tree = require("spec.reading.tree")
local wording = require("base.wording")

local M = {}

local MAX_SEED = 1 << 53 -- runtime/cli/options.h
local MAX_RUNS = 4096 -- runs of a cell: runtime/cli/train/verb_train.c

function M.report(context, node, field, problem, expected, hint)
  context.diagnostics:add({ at = node.origin, field = field, what = problem, expected = expected, hint = hint })
end

function M.show(node)
  return node.fields and "a table" or diagnostics.show(node.value)
end

-- Reports an item without a name, and fields whose names are not in the list `legal`.
function M.check_fields(context, node, path, legal)
  if #node.items > 0 then
    M.report(context, node.items[1], locate.join(path, 1), "a value without a name", "name = value")
  end
  for name, inner in tree.iterate(node) do
    if not lists.has(legal, name) then
      M.report(context, inner, locate.join(path, name), "no such field", table.concat(legal, ", "),
        similar_names.make_hint(name, legal))
    end
  end
end

-- Whether node is a table. Reports an error if it is none, and errors for fields that are not in `legal`, if given.
function M.is_table(context, node, path, expected, legal)
  local is_node_table = tree.is_table(node)
  if not is_node_table then
    M.report(context, node, path, "is " .. M.show(node), expected)
  elseif legal then
    M.check_fields(context, node, path, legal)
  end
  return is_node_table
end

-- Returns the items of a node that is a list with at least one item; an empty list after an error.
function M.read_items(context, node, path, expected)
  if not M.is_table(context, node, path, expected) then
    return {}
  elseif next(node.fields) or #node.items == 0 then
    local is_empty = #node.items == 0 and not next(node.fields)
    M.report(context, node, path, is_empty and "is empty" or "is not a list", expected)
    return {}
  end
  return node.items
end

-- Returns a node's value if it is one of the legal words; nil after an error. kind: a noun for the words.
function M.read_word(context, node, path, legal, kind)
  if lists.has(legal, node.value) then
    return node.value
  end
  M.report(context, node, path, ("%s is not %s %s"):format(M.show(node), wording.choose_article(kind), kind),
    #legal > 0 and table.concat(legal, ", ") or ("no value, since there is no %s"):format(kind),
    similar_names.make_hint(node.value, legal))
end

-- Returns the name of a value on an axis: the name of a number is its text, so 16 equals "16".
function M.get_name(value)
  return type(value) == "number" and canonical.format(value) or value
end

-- Returns the values whose names a node lists. values: a list of { name, ... }.
function M.pick(context, values, node, path)
  local names, picked_values = lists.get_names(values), {}
  for i, item in ipairs(M.read_items(context, node, path, "a list of names")) do
    local value = lists.find(values, function(value) return value.name == M.get_name(item.value) end)
    if not value then
      M.report(context, item, locate.join(path, i), M.show(item) .. " is not a value of this axis",
        table.concat(names, ", "), similar_names.make_hint(item.value, names))
    end
    picked_values[#picked_values + 1] = value or nil
  end
  return picked_values
end

-- Reads values by axis, { <axis> = { <value> = true } }. owner: the node that must contain this node, or nil.
function M.read_cells(context, axes, node, path, owner)
  local expected, cells = "{ <axis> = { names of its values } }", {}
  if not node then
    M.report(context, owner, path, "is missing", expected)
  elseif M.is_table(context, node, path, expected, lists.get_names(axes)) then
    for name, inner in tree.iterate(node) do
      local axis = lists.find(axes, function(axis) return axis.name == name end)
      cells[name] = axis and {}
      for _, value in ipairs(axis and M.pick(context, axis.values, inner, locate.join(path, name)) or {}) do
        cells[name][value.name] = true
      end
    end
  end
  return cells
end

-- Returns the seeds from `first` to `last` of a node { first, last } as a list; an empty list after an error.
local function read_range(context, node, path)
  local expected = ("{ first, last }, both included, integers from 0 to %d, at most %d seeds"):format(MAX_SEED,
    MAX_RUNS)
  local items, ends, seeds = M.read_items(context, node, path, expected), {}, {}
  for i, item in ipairs(items) do
    ends[i] = math.type(item.value) and math.tointeger(item.value)
    if not ends[i] or ends[i] < 0 or ends[i] > MAX_SEED then
      M.report(context, item, locate.join(path, i), M.show(item) .. " is not a seed", expected)
      return seeds
    end
  end
  if #items == 0 then -- read_items has reported it
    return seeds
  end
  local first, last = ends[1], ends[2]
  local problem = #items ~= 2 and ("is a list of length %d"):format(#items)
    or last < first and ("ends at %d, before it starts"):format(last)
    or last - first >= MAX_RUNS and ("are %d seeds"):format(last - first + 1)
  if problem then
    M.report(context, node, path, problem, expected)
    return seeds
  end
  for seed = first, last do
    seeds[#seeds + 1] = seed
  end
  return seeds
end

-- Returns the seeds of a node { first, last, <part> = { first, last } } as a list with the field part_seeds, { <part> =
-- a list }; without `first` and `last` the list is { 0 }. The lists are empty after an error.
function M.read_seeds(context, node, path)
  if not tree.is_table(node) or not next(node.fields) then
    return read_range(context, node, path)
  end
  local range = { origin = node.origin, fields = {}, items = node.items } -- the node without the parts
  local list = #node.items > 0 and read_range(context, range, path) or { 0 }
  local count = #list
  list.part_seeds = {}
  for name, inner in tree.iterate(node) do
    local word = { value = name, origin = inner.origin }
    if M.read_word(context, word, path, seeds_module.PARTS, "part of the random numbers") then
      list.part_seeds[name] = read_range(context, inner, locate.join(path, name))
      count = count * #list.part_seeds[name]
    end
  end
  if count > MAX_RUNS then
    M.report(context, node, path, ("are %d combinations of seeds"):format(count), ("at most %d"):format(MAX_RUNS))
  end
  return list
end

-- Whether a point of a grid has, on each of these axes, one of the values { <axis> = { <value> = true } }.
function M.has_values(axes, point, values)
  for i, axis in ipairs(axes) do
    if values[axis.name] and not values[axis.name][point[i].name] then
      return false
    end
  end
  return true
end

-- Returns the content of a node as plain data.
function M.to_plain(node)
  if not tree.is_table(node) then
    return node.value
  end
  local value = lists.map(node.items, function(item) return M.to_plain(item) end)
  for name, inner in next, node.fields do
    value[name] = M.to_plain(inner)
  end
  return value
end

return M
