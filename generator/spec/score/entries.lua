-- Converts the scores of a spec to the forms below. Merges an encoding over its parent, the encoding that it extends.
--
-- Input: tree nodes (tree.lua) of an encoding's table; open(node, field), which returns the resolved encoding that a
-- `use` names; report(node, field, what, expected, hint), which returns nil. Output: an encoding's table whose field
-- `score` has one of these forms:
--   a function; its parameters are the field `parameters` of the same table
--   a list of two or more entries, tables { score, parameters }
--   a node with is_none = true: no score
-- Errors are reported, and entries with errors are left out. Invariant: changes no node of its input.

local canonical = require("base.canonical")
local diagnostics = require("base.diagnostics")
local families = require("spec.families")
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local similar_names = require("base.similar_names")
local tree = require("spec.reading.tree")

local M = {}

local show = diagnostics.show

local MAX_SCORES = 64 -- scores of an encoding

local ENTRY_TEXT = '{ use = "window", width = 8 } or { score = function(x) ... end, parameters = { ... } }'

local function is_function(node)
  return node ~= nil and type(node.value) == "function"
end

-- A parameter as a table of fields. A number, a name or a list becomes { values = ... }.
function M.expand_parameter(node)
  if tree.is_record(node) then
    return node
  end
  local parameter = tree.make_table(node.origin)
  parameter.fields.values = node
  return parameter
end

-- Name of a new field -> the fields that it removes from an inherited parameter.
local REMOVED_FIELDS = {
  init = { "values", "learned" }, values = { "init", "learned" },
  shape = { "index", "by_distance" }, index = { "shape" },
}

-- Merges one parameter over an inherited parameter.
local function merge_parameter(base, override)
  override = M.expand_parameter(override)
  local merged = tree.copy(M.expand_parameter(base))
  merged.origin = override.origin
  for name in next, override.fields do
    for _, removed_name in ipairs(REMOVED_FIELDS[name] or {}) do
      merged.fields[removed_name] = nil
    end
  end
  merged.fields = lists.merge(merged.fields, override.fields)
  return merged
end

-- Merges parameters over inherited parameters. Both arguments may be nil. Validation reports values that are no tables.
local function merge_parameters(base, override)
  if not tree.is_table(base) or not tree.is_table(override) then
    return override or base
  end
  local merged = tree.copy(base)
  merged.origin = override.origin
  for name, node in next, override.fields do
    local base_node = merged.fields[name]
    merged.fields[name] = base_node and not base_node.droppable and merge_parameter(base_node, node) or node
  end
  table.move(override.items, 1, #override.items, 1, merged.items)
  return merged
end

-- A copy of inherited parameters that a new score may leave unused; nil without parameters.
local function mark_droppable(parameters)
  local function mark(_, node)
    return tree.mark_droppable(node, true)
  end
  return tree.is_table(parameters) and tree.map(parameters, mark) or nil
end

local function remove_parameters(node)
  return tree.map(node, function(name, field) return name ~= "parameters" and field or nil end)
end

-- Merges an encoding over its parent like tree.merge, but a score replaces the parent's score as a whole, and
-- parameters are merged one by one.
function M.merge(base, override)
  if not tree.is_table(base) or not tree.is_table(override) then
    return tree.merge(base, override)
  end
  local base_parameters = base.fields.parameters
  local merged = tree.copy(tree.merge(remove_parameters(base), remove_parameters(override)))
  if override.fields.score then
    base_parameters = mark_droppable(base_parameters)
  end
  merged.fields.parameters = merge_parameters(base_parameters, override.fields.parameters)
  merged.fields.score = override.fields.score or base.fields.score
  local first_layer = override.fields.layer1 -- a list of layers replaces the parent's layers
  for name in next, families.is_name do
    local is_replaced = families.is_layer[name] and first_layer and first_layer.in_list
    local base_family, override_family = not is_replaced and base.fields[name] or nil, override.fields[name]
    merged.fields[name] = base_family and override_family and M.merge(base_family, override_family)
      or override_family or base_family
  end
  return merged
end

-- The parameters of a preset, merged with the constants that stand next to `use` in an entry.
local function add_constants(context, node, path, parameters)
  local constants = tree.make_table(node.origin)
  for name, value in tree.iterate_others(node, { "use", "parameters" }) do
    constants.fields[name] = value
  end
  local names = canonical.sort_keys(parameters and parameters.fields or {})
  for name, value in tree.iterate_others(constants, names) do
    context.report(value, path .. "." .. name, ("%s has no parameter of this name"):format(show(
      node.fields.use.value)), #names > 0 and table.concat(names, ", ") or "only `use`; the preset has no parameters",
      similar_names.make_hint(name, names, "%s"))
    constants.fields[name] = nil
  end
  return merge_parameters(parameters, constants)
end

-- Whether a node is a table with the field `name` and nothing else.
local function has_only(node, name)
  return tree.is_record(node) and node.fields[name] ~= nil and not tree.iterate_others(node, { name })()
end

-- The entries of { use = preset, ... }; nil after an error.
local function open_preset(context, node, path)
  local use = node.fields.use
  local base = context.open(use, path .. ".use")
  if not base then
    return nil
  elseif not base.fields.score then
    return context.report(use, path .. ".use", ("%s has no score"):format(show(use.value)),
      "a preset with score, such as alibi or window")
  end
  local name = tree.iterate_others(base, { "score", "parameters" })()
  if name then
    return context.report(use, path .. ".use", ("%s sets %s, too"):format(show(use.value), name),
      "a preset of score and parameters alone", ("encoding.use = %s takes the whole preset"):format(show(use.value)))
  elseif not is_function(base.fields.score) then
    if not has_only(node, "use") then
      context.report(node, path, ("%s is a list of scores, and cannot be changed here"):format(show(use.value)),
        "`use` and no other field; or the scores of the preset one by one")
    end
    return base.fields.score.items
  end
  local entry = tree.make_table(node.origin)
  entry.fields.score = base.fields.score
  entry.fields.parameters = merge_parameters(add_constants(context, node, path, base.fields.parameters),
    node.fields.parameters)
  return { entry }
end

-- The entries { score, parameters } of one item of a list, or of a table that replaces the list; nil after an error.
local function read_entries(context, node, path)
  if is_function(node) then
    local entry = tree.make_table(node.origin)
    entry.fields.score = node
    return { entry }
  elseif not tree.is_record(node) then
    return context.report(node, path, (tree.is_table(node) and "a list inside a list" or show(node.value))
      .. " is not a score", ENTRY_TEXT)
  end
  local use, score = node.fields.use, node.fields.score
  if use and score then
    return context.report(score, path .. ".score", "conflicts with use", "one of the two fields")
  elseif use then
    return open_preset(context, node, path)
  end
  local name, field_node = tree.iterate_others(node, { "score", "parameters" })()
  if name then
    return context.report(field_node, path .. "." .. name, "no such field", "use, score, parameters",
      "a score without `use` has its constants in parameters = { " .. name .. " = ... }")
  elseif not is_function(score) then
    return context.report(score or node, path .. ".score", score and "is not a function" or "is missing", ENTRY_TEXT)
  end
  return { node }
end

-- The table of an encoding with its score converted. context: { open, report, path }; path: the path of the table.
function M.expand(encoding, context)
  local score = tree.is_table(encoding) and encoding.fields.score or nil
  if not tree.is_table(score) then
    return encoding
  end
  local list, path = {}, context.path .. ".score"
  if has_only(score, "kind") and score.fields.kind.value == "none" then -- no score, whatever the parent has
    local new_encoding = tree.copy(encoding)
    new_encoding.fields.score = { origin = score.origin, is_none = true }
    return new_encoding
  elseif #score.items == 0 and next(score.fields) == nil then
    context.report(score, path, "the list is empty", "a function, or a list of scores")
  elseif #score.items == 0 then
    list = read_entries(context, score, path) or {}
  elseif next(score.fields) then
    local name, field_node = tree.iterate(score)()
    context.report(field_node, path .. "." .. name, "a name in a list of scores", "each entry in braces of its own: "
      .. ENTRY_TEXT)
  end
  for i, item in ipairs(score.items) do
    if #list >= MAX_SCORES then
      context.report(item, locate.join(path, i), ("the list has more than %d scores"):format(MAX_SCORES),
        ("at most %d, one after the other"):format(MAX_SCORES))
      break
    end
    lists.append(list, read_entries(context, item, locate.join(path, i)) or {})
  end
  local new_encoding = tree.copy(encoding)
  new_encoding.fields.score = { origin = score.origin, fields = {}, items = list }
  if #list == 0 then -- all entries have errors
    new_encoding.fields.score, new_encoding.fields.parameters = nil, nil
  elseif #list == 1 then
    new_encoding.fields.score = list[1].fields.score
    new_encoding.fields.parameters = merge_parameters(list[1].fields.parameters, encoding.fields.parameters)
  end
  return new_encoding
end

return M
