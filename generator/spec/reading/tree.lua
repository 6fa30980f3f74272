-- Values with their origins: the result of a spec file as nodes that record where each value was written.
--
-- A node is { origin, value } for a scalar or a function, { origin, fields, items } for a table: fields by name, items
-- 1..n in order. An origin is { path, line, col }, { set = "--set a.b=v" } for the command line, or { default = true }.
-- Some modules mark nodes with further fields: `partial`, `in_list` (load.lua), `made_for` (inherit.lua),
-- `is_none` (score/entries.lua), `replaces_parent` (overrides.lua), `droppable` (M.merge).
--
-- Input: Lua values from the sandbox. Output: nodes that share no table with the input. Invariants: a tree is finite,
-- without cycles, with at most MAX_DEPTH tables inside each other and at most MAX_NODES nodes; its numbers are finite.

local diagnostics = require("base.diagnostics")
local lists = require("base.lists")
local locate = require("spec.reading.locate")

local M = {}

local MAX_DEPTH = 16
local MAX_NODES = 150000

-- The keys of a table: the ascending list of its integers, and the ascending list of its names. If a key has another
-- type: nil and the key.
local function sort_keys(value)
  local integers, names = {}, {}
  for key in next, value do
    if math.type(key) ~= "integer" and type(key) ~= "string" then
      return nil, key
    end
    table.insert(type(key) == "string" and names or integers, key)
  end
  table.sort(integers)
  table.sort(names)
  return integers, names
end

local build

-- Reports an error and stops building the tree, since many further values could have the same error.
local function give_up(context, path, message, expected)
  context.failed = true
  return context.report(path, message, expected)
end

-- Builds the node of a table; nil after an error. depth: the number of tables around it.
local function build_table(context, value, path, depth)
  if context.open[value] then
    return context.report(path, "the table contains itself", "a tree of tables")
  elseif depth > MAX_DEPTH then
    return give_up(context, path, ("nested deeper than %d tables"):format(MAX_DEPTH), "a flatter spec")
  end
  local integers, names = sort_keys(value) -- or nil and a key of another type
  if not integers then
    return context.report(path, ("a key is %s"):format(diagnostics.show(names)), "names, or a list from 1 on")
  end
  for i, key in ipairs(integers) do
    if key ~= i then
      return context.report(path, ("the list has item %d but no item %d"):format(key, i), "a list without holes")
    end
  end
  context.open[value] = true
  local node = M.make_table(context.origin(path))
  for _, key in ipairs(lists.join(integers, names)) do
    local list = type(key) == "string" and node.fields or node.items
    list[key] = build(context, value[key], locate.join(path, key), depth + 1)
  end
  context.open[value] = nil
  return node
end

function build(context, value, path, depth)
  context.nodes = context.nodes + 1
  if context.failed then
    return nil
  elseif context.nodes > MAX_NODES then
    return give_up(context, path, ("more than %d values"):format(MAX_NODES), "a smaller spec")
  end
  if type(value) == "table" then
    return build_table(context, value, path, depth)
  elseif type(value) == "number" and (value ~= value or value == math.huge or value == -math.huge) then
    return context.report(path, ("%s is not a finite number"):format(value ~= value and "NaN" or value),
      "a finite number")
  elseif type(value) == "userdata" or type(value) == "thread" then
    return context.report(path, ("a %s is not a value of a spec"):format(type(value)), "a constant or a table")
  end
  return { origin = context.origin(path), value = value }
end

-- Builds a tree from a Lua value. origin(path) returns the origin of the value at a path; report(path, message,
-- expected) reports an error. Invalid values are left out, so the caller must check whether an error was reported.
function M.build(value, origin, report)
  -- nodes: the number of nodes so far; open: the set of the tables around the current value
  return build({ origin = origin, report = report, nodes = 0, open = {} }, value, "", 0)
end

function M.is_table(node)
  return node ~= nil and node.fields ~= nil
end

function M.is_record(node)
  return M.is_table(node) and #node.items == 0
end

function M.is_list(node)
  return M.is_table(node) and #node.items > 0 and next(node.fields) == nil
end

-- The value of a node if it is an integer from low to high; nil for other values.
function M.get_integer(node, low, high)
  local integer = node and type(node.value) == "number" and math.tointeger(node.value)
  return integer and integer >= low and integer <= high and integer or nil
end

function M.show(node)
  return M.is_table(node) and "a table" or diagnostics.show(node.value)
end

-- A table node's fields in the order of their names: for name, node in tree.iterate(node).
function M.iterate(node)
  local _, names = sort_keys(node.fields)
  local i = 0
  return function()
    i = i + 1
    return names[i], node.fields[names[i]]
  end
end

-- Iterates over the fields of a table node whose names are not in the list `names`, in the order of their names.
function M.iterate_others(node, names)
  local other_fields = lists.merge(node.fields)
  for _, name in ipairs(names) do
    other_fields[name] = nil
  end
  return M.iterate({ fields = other_fields })
end

function M.make_table(origin)
  return { origin = origin, fields = {}, items = {} }
end

local function get_kind(node)
  return node.fields.kind and node.fields.kind.value
end

-- A new table node with the same fields, items and `partial`, without other marks.
function M.copy(node)
  return { origin = node.origin, partial = node.partial, fields = lists.merge(node.fields),
    items = lists.join(node.items, {}) }
end

-- A copy of a table node with convert(name, field) in place of each field; nil leaves the field out.
function M.map(node, convert)
  local copy = M.copy(node)
  for name, field in next, node.fields do
    copy.fields[name] = convert(name, field)
  end
  return copy
end

-- Returns a copy of the node with the mark `droppable`, which M.merge describes.
function M.mark_droppable(node, mark)
  return lists.merge(node, { droppable = mark })
end

-- Fields that the table of a list may have in addition to its values, such as { 1, 40, per = "sequence" }.
local QUALIFIERS = { "per", "curriculum" }

-- Merges two tables, at least one of which is a list. The values of `override`, if it has any, replace the values of
-- `base`; qualifiers are merged one by one.
local function merge_list(base, override)
  -- Values are items, or fields such as `list`; an empty table also replaces the values of `base`.
  local has_values = #override.items > 0 or M.iterate_others(override, QUALIFIERS)() or next(override.fields) == nil
  local inherits = lists.any(QUALIFIERS, function(name) return base.fields[name] and not override.fields[name] end)
  if has_values and not inherits then
    return override
  end
  local merged = M.copy(has_values and override or base)
  for _, name in ipairs(QUALIFIERS) do
    merged.fields[name] = override.fields[name] or base.fields[name]
  end
  return merged
end

-- Merges the tree `override` into `base`, field by field; returns the result and changes neither tree. Lists and
-- scalars are replaced. If `override` states another kind, it replaces base. But if base states no kind, or if --set
-- states the new kind, the fields of base are kept with the mark `droppable`: true, or the text of the --set for
-- messages. If the new kind lacks a marked field, validation drops the field instead of reporting an error. A table
-- with the mark `replaces_parent` (overrides.lua) replaces base.
function M.merge(base, override)
  if not M.is_table(base) or not M.is_table(override) or override.replaces_parent then
    return override
  elseif #base.items > 0 or #override.items > 0 then
    return merge_list(base, override)
  end
  local new_kind, base_kind = get_kind(override), get_kind(base)
  local is_other_kind = new_kind ~= nil and new_kind ~= base_kind
  local set_text = new_kind ~= nil and override.fields.kind.origin.set
  if is_other_kind and base_kind ~= nil and not set_text then
    return override
  end
  local mark = is_other_kind and (set_text or true)
  local merged = M.make_table(override.origin)
  merged.made_for = override.made_for or base.made_for -- inherit.lua reads it
  merged.replaces_parent = base.replaces_parent
  for name, node in next, base.fields do
    merged.fields[name] = mark and override.fields[name] == nil and M.mark_droppable(node, mark) or node
  end
  for name, node in next, override.fields do
    merged.fields[name] = merged.fields[name] and M.merge(merged.fields[name], node) or node
  end
  return merged
end

-- For a value of the section `task` that does not fit the chosen task. Returns true if the value is dropped: if its
-- node has the mark `droppable` (M.merge). Otherwise the caller reports an error. Adds a warning if the mark is the
-- text of a --set.
function M.try_drop(context, node, path)
  if type(node.droppable) == "string" then
    context.dropped[#context.dropped + 1] = ("%s drops %s, which does not fit the new task"):format(node.droppable,
      path)
  end
  return node.droppable ~= nil
end

return M
