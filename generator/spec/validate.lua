-- Applies the schema to a loaded spec, then the rules between fields.
--
-- Input: the result of load.load, diagnostics, the tasks. Output: the resolved spec, a plain nested table with id,
-- source and every field that applies to it, and info, a table with these fields:
--   origins    the origin of each value, by path, as text: "spec/runs/x.lua:4:12", "--set a.b=v" or "default"
--   warnings   a list of texts about values that are valid but probably not intended, or that were dropped
--   task       the facts of the task (task/tasks.lua)
--   files      the files that the trainer reads: field name -> { shown, real }, the path for messages and the path to
--              open
--   score      the formula { root, builder, parameters } of the score (score/score.lua); nil without a score; for a
--              model with several families of attentions { families }, the formulas by family
--   network    the file { path, text } of a user's own network, or nil
--   init       the checkpoint with which runs begin (reading/first_checkpoint.lua), or nil
-- Invariants: reports every error it can find in one run; changes only the diagnostics; reads only files that the spec
-- names; integers come out as integers, other numbers as floats, lengths as { first, last, step } or { list }; equal
-- specs give equal tables.
--
-- The context, which the modules of spec/ pass to each other, has the fields `task`, `files`, `score` and `init` of
-- info and these fields:
--   diagnostics          the diagnostics
--   tasks                the facts of all tasks of the runtime (tasks.read)
--   loaded               the result of load.load
--   root                 the spec's tree after inherit.lua; settle.lua may replace it
--   resolved             the resolved spec so far; invalid fields are nil
--   origins              path -> the origin of the value at the path, in a form of tree.lua
--   partial              path of a table -> whether a preset of the table, or of a table above it, is missing
--   dropped              warnings about fields that --set made invalid and that are therefore ignored
--   formulas             family, or "encoding" for the shared score -> the nodes { score, parameters } (values.lua);
--                        score is false after an error
--   own_task             the facts of a user's own sampler, or nil
--   own_network          the field `network` of info
--   options_node         the node of task.options, or nil
--   conflicting_reading  { path, value } of a value of positions.reading that cross-attention cannot have, or nil
--   has_no_errors        for rules: whether no error was found before the rules

local checkpoint = require("spec.reading.first_checkpoint")
local families = require("spec.families")
local inherit = require("spec.reading.inherit")
local lists = require("base.lists")
local locate = require("spec.reading.locate")
local rules = require("spec.rules.rules")
local schema = require("spec.schema")
local settle = require("spec.settle")
local settle_encoding = require("spec.settle_encoding")
local escape = require("base.escape")
local tree = require("spec.reading.tree")
local unknown = require("spec.hints.unknown")
local values = require("spec.values")

local M = {}

local add = values.add_error
local DEFAULT = { default = true }

-- Records the origins of a node and of the nodes inside it.
local function record_origin(context, path, node)
  context.origins[path] = node.origin
  for i, item in ipairs(node.items or {}) do
    record_origin(context, locate.join(path, i), item)
  end
  for name, field_node in next, node.fields or {} do
    record_origin(context, locate.join(path, name), field_node)
  end
end

-- The default of a field: a copy of the value, with a number as a float.
local function get_default(context, field)
  local value = field.default
  if type(value) == "function" then
    value = value(context.resolved)
  end
  return field.type == "number" and value and value + 0.0 or lists.copy(value)
end

-- Reports encoding.<family> for a model without this family of attentions, unless the model's kind is unknown.
local function report_unknown_family(context, node, path)
  local model, names = context.resolved.model, families.list(context.resolved.model, context.resolved.encoding)
  if names and families.is_layer[path:match("%w+$")] then
    add(context, node, path, ("encodings by layer in a model of kind %q"):format(model.kind), table.concat(
      families.list_kinds(families.LAYERS[1]), ", "))
  elseif names and path == "encoding.encoder" and model.encoder_layers then
    add(context, node, path, "there is no encoder, since model.encoder_layers = 0", "encoding.decoder, encoding.cross")
  elseif names then
    add(context, node, path, ('model.kind = "%s" has no attentions of that name'):format(model.kind),
      ("facets directly in encoding, which apply to all attentions of the model: %s"):format(table.concat(names, ", ")))
  end
end

-- Reports a field that its table cannot have. kind: as in check_names; legal_fields: the fields of such a table.
local function report_unknown_field(context, node, path, kind, legal_fields)
  local family, field_path = path:match("^encoding%.(%l+%d?)%.?(.*)$")
  if families.is_name[family] and field_path == "" then
    return report_unknown_family(context, node, path)
  elseif families.is_name[family] and field_path == "additive" then
    local is_in_preset = node.origin.path and node.origin.path ~= context.loaded.source
    return add(context, node, path, "vectors of positions are added to the tokens, before any attention",
      "encoding.additive" .. (families.is_layer[family] and "" or ", which applies to both streams"), is_in_preset
        and ("instead of `use`, write the preset's facets in encoding.%s, without `additive`"):format(family) or nil)
  end
  if path == "encoding.heads" then
    return add(context, node, path, "all heads of a layer have one encoding", 'encoding.layers, rotation.heads, or a '
      .. 'score that differs by head: x.head, or a parameter with per = "head"')
  end
  local field, parent = schema.by_path[path], path:match("^(.*)%.[^%.]*$")
  local expected = lists.get_names(lists.filter(legal_fields, function(candidate) return not candidate.numbered end))
  local function make_hint()
    if field then
      return ('kind "%s" has this field'):format(table.concat(field.only, '" or "'))
        .. (kind == "none" and (": set %s.kind"):format(parent) or "")
    end
    return unknown.make_hint(path, expected, context.loaded.root)
      or type(node.value) == "function" and "only encoding.score can be a function"
  end
  add(context, node, path, "no such field" .. (kind and (' for kind "%s"'):format(kind) or ""),
    table.concat(expected, ", "), make_hint)
end

-- Whether a field applies to the model. A field encoding.<family> applies if the model has the family, or if the kind
-- of the model is unknown.
local function applies_to(context, field)
  local model = context.resolved.model
  local is_family_table = field.family and field.path == "encoding." .. field.family
  if not is_family_table or not (model and model.kind) then
    return true
  elseif field.family == "encoder" and model.encoder_layers == 0 then
    return false
  end
  return lists.has(families.list_kinds(field.family), model.kind)
end

-- Moves a table's values without a name into the field for them (`items` in schema.lua). Returns the new node; the old
-- node if it has no such values, or if that field does not exist or is given, too.
local function name_items(node, path)
  local name = schema.by_path[path] and schema.by_path[path].items
  if not name or #node.items == 0 or node.fields[name] then
    return node
  end
  local named_items = { origin = node.origin, fields = {}, items = node.items }
  return { origin = node.origin, fields = lists.merge(node.fields, { [name] = named_items }), items = {} }
end

-- Reports values without a name, and fields that a table of this kind does not have. A field that another kind has is
-- dropped instead if it is marked `droppable` (tree.merge).
--   kind   nil if all tables at the path have the same fields; false if the kind is wrong or unknown
local function check_names(context, node, path, kind)
  if #node.items > 0 then
    add(context, node.items[1], locate.join(path, 1), "a value without a name", "name = value")
  end
  local legal_fields = lists.map(schema.children[path], function(child)
    return (kind == false or schema.allows(child, kind)) and applies_to(context, child) and child or nil
  end)
  local is_legal = lists.to_set(lists.get_names(legal_fields))
  for name, field_node in tree.iterate(node) do
    local field_path = locate.join(path, name)
    if not is_legal[name] and field_node.droppable and schema.by_path[field_path] then
      context.dropped[#context.dropped + 1] = type(field_node.droppable) == "string"
        and ("%s drops %s, which is not a field%s"):format(field_node.droppable, field_path,
          kind and (' of kind "%s"'):format(kind) or "") or nil
    elseif not is_legal[name] then
      report_unknown_field(context, field_node, field_path, kind, legal_fields)
    end
  end
end

-- Returns a node without these fields; nil if all its fields are among them. Empty tables and other values stay.
local function remove_fields(node, fields)
  if not tree.is_table(node) then
    return node
  end
  local stripped_node = tree.copy(node)
  for _, field in ipairs(fields) do
    stripped_node.fields[field.name] = nil
  end
  local is_kept = #stripped_node.items > 0 or next(stripped_node.fields) or not next(node.fields)
  return is_kept and stripped_node or nil
end

local read_table

-- Reads a field whose type is not table. A table of lengths may have attached fields, such as a curriculum.
local function read_value(context, field, node, result)
  local attached_fields = schema.children[field.path]
  local value_node = node
  if node and attached_fields then
    value_node = remove_fields(node, attached_fields) -- nil: there are only attached fields
  end
  if node then
    record_origin(context, field.path, node)
  end
  if value_node then
    result[field.name] = values.read(context, field, value_node)
  elseif not field.required then
    context.origins[field.path] = node and node.origin or DEFAULT
    result[field.name] = get_default(context, field)
  end
end

-- Reads a field of any type, with the fields attached to its value, into `result`.
local function read_field(context, field, node, result)
  if field.type == "table" then
    if node or not field.optional then
      read_table(context, field, node, result)
    end
  else
    read_value(context, field, node, result)
  end
  for _, child in ipairs(field.type ~= "table" and result[field.name] and schema.children[field.path] or {}) do
    read_field(context, child, node and tree.is_table(node) and node.fields[child.name], result[field.name])
  end
  if field.type ~= "table" and field.omitted_value ~= nil and result[field.name] == field.omitted_value then
    result[field.name] = nil
  end
end

-- Reads a table's fields into `result`: the kind first, then the fields of that kind; if the kind is unknown, all
-- fields that the spec states.
local function read_children(context, path, node, result)
  local kind
  node = name_items(node, path)
  local lacks_preset = node.partial or context.partial[path:match("^(.*)%.[^%.]*$") or ""]
  context.partial[path] = lacks_preset
  local kind_field = schema.by_path[path == "" and "kind" or path .. ".kind"]
  if kind_field then
    read_field(context, kind_field, node.fields.kind, result)
    kind = (node.fields.kind or not lacks_preset) and result.kind or false -- a missing preset may have set the kind
    result.kind = kind or nil
  end
  if kind_field and kind_field.kinds_from then
    kind = nil -- all kinds of tasks have the same fields
  end
  check_names(context, node, path, kind)
  for _, child in ipairs(schema.children[path]) do
    local is_given = node.fields[child.name] ~= nil
    local applies = (kind == nil or schema.allows(child, kind) or kind == false and is_given)
      and applies_to(context, child)
    if child ~= kind_field and applies then
      read_field(context, child, node.fields[child.name], result)
    end
    if child.required and applies and not is_given and not lacks_preset then
      add(context, node, child.path, "is missing", child.type == "kind"
        and table.concat(values.list_kinds(context, child), ", ") or schema.describe_values(child))
    end
  end
end

function read_table(context, field, node, result)
  local values_by_name = {}
  result[field.name] = values_by_name
  if node and not tree.is_table(node) then
    return values.report_wrong_type(context, field, node)
  end
  context.origins[field.path] = node and node.origin or DEFAULT
  if node or not field.required then
    read_children(context, field.path, node or tree.make_table(DEFAULT), values_by_name)
  end
  local has_one_field = next(values_by_name) ~= nil and next(values_by_name, (next(values_by_name))) == nil
  if field.omitted_value and values_by_name.kind == field.omitted_value and has_one_field
    or field.omitted_value == "empty" and next(values_by_name) == nil then
    result[field.name] = nil
  end
end

-- Validates a loaded spec. options.tasks: the result of tasks.read. Returns the resolved spec and info; nil if the
-- diagnostics contain an error of this or an earlier step.
function M.resolve(loaded, d, options)
  local context = { diagnostics = d, tasks = options.tasks, root = inherit.inherit(loaded.tree), loaded = loaded,
    origins = {}, formulas = {}, files = {}, partial = {}, dropped = {},
    resolved = { id = loaded.id, source = escape.plain(loaded.source) } }
  settle.drop_replaced_task(context)
  read_children(context, "", context.root, context.resolved)
  settle.settle_task(context)
  settle.refuse_network_fields(context)
  settle_encoding.settle_sides(context)
  context.init = checkpoint.read(context, context.root.fields.init)
  -- With a missing preset, rules would report defaults that stand for the preset's values.
  local has_all_presets = next(context.partial) == nil
  local can_read_scores = has_all_presets and not loaded.has_untraceable_code
  context.score = can_read_scores and settle_encoding.settle_score(context, loaded.texts) or nil
  context.has_no_errors = d:count() == 0
  local warnings = has_all_presets and rules.apply(context)
  if d:count() > 0 then
    return nil
  end
  local origins = {}
  for path, origin in next, context.origins do
    origins[path] = origin.default and "default" or origin.set
      or ("%s:%d:%d"):format(origin.path, origin.line, origin.col)
  end
  return context.resolved, { origins = origins, warnings = lists.append(context.dropped, warnings),
    task = context.task, files = context.files, score = context.score, network = context.own_network,
    init = context.init }
end

return M
