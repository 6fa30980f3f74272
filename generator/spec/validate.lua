-- Applies the schema to a loaded spec, then the rules between fields.
--
-- Input: what load.spec returned, diagnostics, the tasks. Output: the resolved spec, a plain nested table with id,
-- source and every field that applies to its kinds, and info = { origins, warnings, task, files, score, network }:
-- where each value comes from, by path, as text ("spec/runs/x.lua:4:12", "--set a.b=v", "default"); remarks that stop
-- nothing; the task's facts; the places of the files that the trainer reads; the formula { root, builder, parameters }
-- of the score (spec/score/score.lua), or { families } where there are several, nil without one; the file
-- { path, text } of a network of the user's own, or nil.
-- Invariants: reports every error it can find in one run; pure apart from diagnostics; integers come out as integers,
-- other numbers as floats, lengths as { first, last, step } or { list }; the same spec gives the same table.

local checkpoint = require("spec.checkpoint")
local diagnostics = require("base.diagnostics")
local families = require("spec.families")
local features = require("spec.features")
local finite = require("spec.finite")
local inherit = require("spec.inherit")
local locate = require("spec.locate")
local losses = require("spec.losses")
local options = require("spec.options")
local rules = require("spec.rules")
local schema = require("spec.schema")
local score = require("spec.score.score")
local sections = require("spec.sections")
local tasks = require("spec.tasks")
local tongues = require("base.tongues")
local tree = require("spec.tree")
local unknown = require("spec.unknown")
local values = require("spec.values")

local M = {}

local show = diagnostics.show
local add = values.add
local DEFAULT = { default = true }

-- Records where a value comes from, and its parts.
local function record_origin(context, path, node)
  context.origins[path] = node.origin
  for i, item in ipairs(node.items or {}) do
    record_origin(context, locate.join(path, i), item)
  end
  for name, inner in next, node.fields or {} do
    record_origin(context, locate.join(path, name), inner)
  end
end

local function copy(value)
  if type(value) ~= "table" then
    return value
  end
  local new = {}
  for key, inner in next, value do
    new[key] = copy(inner)
  end
  return new
end

local function default_of(context, field)
  local value = field.default
  if type(value) == "function" then
    value = value(context.resolved)
  end
  if field.type == "number" and value then
    value = value + 0.0
  end
  return copy(value)
end

-- Facets of one family of attentions, in a model that does not have it.
local function unknown_family(context, node, path)
  local model = context.resolved.model
  local names = families.of(model)
  if names and path == "encoding.encoder" and model.encoder_layers then
    add(context, node, path, "model.encoder_layers = 0: there is no encoder", "encoding.decoder, encoding.cross")
  elseif names then
    add(context, node, path, ('model.kind = "%s" has no attentions of that name'):format(model.kind),
      ("facets written directly in encoding: they hold for its attentions, %s"):format(table.concat(names, ", ")))
  end
end

local function has_family(context, name)
  for _, own in ipairs(families.of(context.resolved.model) or {}) do
    if own == name then
      return true
    end
  end
  return false
end

local function unknown_field(context, node, path, kind, legal)
  local family, below = path:match("^encoding%.(%l+)%.?(.*)$")
  if families.is_name[family] and below == "" then
    unknown_family(context, node, path)
    return
  elseif families.is_name[family] and below == "additive" then
    local preset = node.origin.path and node.origin.path ~= context.loaded.source
    add(context, node, path, "vectors of positions are added to the tokens, whatever looks at them",
      "encoding.additive, which holds for both streams", preset
        and ("encoding.%s uses this preset: write the other facets of it there"):format(family) or nil)
    return
  end
  local field, parent = schema.at[path], path:match("^(.*)%.[^%.]*$")
  local kind_text = kind and (' for kind "%s"'):format(kind) or ""
  local expected = {}
  for i, child in ipairs(legal) do
    expected[i] = child.name
  end
  local function hint()
    if field then
      return ('kind "%s" has it'):format(table.concat(field.only, '" or "'))
        .. (kind == "none" and (": set %s.kind"):format(parent) or "")
    end
    return unknown.hint(path, expected, context.loaded.root)
      or type(node.value) == "function" and "encoding.score takes a function, no other field"
  end
  add(context, node, path, "no such field" .. kind_text, table.concat(expected, ", "), hint)
end

-- Whether the model has what a field is for: its family of attentions.
local function applies_to(context, field)
  return field.path ~= "encoding." .. (field.family or "") or has_family(context, field.family)
end

-- A table some of whose values need no name, with these under theirs.
local function named_items(node, path)
  local name = schema.at[path] and schema.at[path].items
  if not name or #node.items == 0 or node.fields[name] then
    return node
  end
  local named = tree.table(node.origin)
  for each, inner in tree.each(node) do
    named.fields[each] = inner
  end
  named.fields[name] = { origin = node.origin, fields = {}, items = node.items }
  return named
end

-- Reports positional values and fields that a table of this kind does not have.
local function check_names(context, node, path, kind)
  if #node.items > 0 then
    add(context, node.items[1], locate.join(path, 1), "a value without a name", "name = value")
  end
  local legal, allowed = {}, {}
  for _, child in ipairs(schema.children[path]) do
    if (kind == false or schema.allows(child, kind)) and applies_to(context, child) then -- false: the kind is wrong
      legal[#legal + 1] = child
      allowed[child.name] = true
    end
  end
  for name, inner in tree.each(node) do
    local inner_path = locate.join(path, name)
    if not allowed[name] and inner.unstated and schema.at[inner_path] then
      context.dropped[#context.dropped + 1] = type(inner.unstated) == "string" and ("%s drops %s, which is no field%s")
        :format(inner.unstated, inner_path, kind and (' of kind "%s"'):format(kind) or "") or nil
    elseif not allowed[name] then
      unknown_field(context, inner, inner_path, kind, legal)
    end
  end
end

local read_table

local function read_field(context, field, node, into)
  if field.type == "table" then
    if node or not field.optional then
      read_table(context, field, node, into)
    end
  elseif node then
    record_origin(context, field.path, node)
    into[field.name] = values.read(context, field, node)
  elseif not field.required then
    context.origins[field.path] = DEFAULT
    into[field.name] = default_of(context, field)
  end
  if field.type ~= "table" and field.left_out ~= nil and into[field.name] == field.left_out then
    into[field.name] = nil
  end
end

-- Reads a table's fields into `into`: its kind first, then what that kind has.
local function read_children(context, path, node, into)
  local kind
  node = named_items(node, path)
  local partial = node.partial or context.partial[path:match("^(.*)%.[^%.]*$") or ""]
  context.partial[path] = partial
  local kind_field = schema.at[path == "" and "kind" or path .. ".kind"]
  if kind_field then
    read_field(context, kind_field, node.fields.kind, into)
    kind = into.kind or false
    if partial and not node.fields.kind then
      kind = false -- the preset that is not there may have said it
    end
  end
  if kind_field and kind_field.of then
    kind = nil -- a task has no fields of its own
  end
  check_names(context, node, path, kind)
  for _, child in ipairs(schema.children[path]) do
    local applies = (kind == nil or schema.allows(child, kind)) and applies_to(context, child)
    if child ~= kind_field and applies then
      read_field(context, child, node.fields[child.name], into)
    end
    if child.required and applies and not node.fields[child.name] and not partial then
      add(context, node, child.path, "is missing", child.type == "kind"
        and table.concat(values.kind_names(context, child), ", ") or schema.expected(child))
    end
  end
end

function read_table(context, field, node, into)
  local inner = {}
  into[field.name] = inner
  if node and not tree.is_table(node) then
    local is_name = type(node.value) == "string" and not field.path:find(".", 1, true)
    local key = (field.name == "task" or field.name == "encoding") and "kind" or "use"
    values.wrong_type(context, field, node, is_name and ("write %s = { %s = %s }"):format(field.name, key,
      show(node.value)))
    return
  end
  context.origins[field.path] = node and node.origin or DEFAULT
  if node or not field.required then
    read_children(context, field.path, node or tree.table(DEFAULT), inner)
  end
  local alone = next(inner) ~= nil and next(inner, (next(inner))) == nil
  if field.left_out and inner.kind == field.left_out and alone or field.left_out == "empty" and next(inner) == nil then
    into[field.name] = nil
  end
end

-- Exactly one of the ways in which a task is chosen; returns its name, or nil after an error.
local function choice_of(context, given)
  local choice
  for _, name in ipairs(sections.TASK_CHOICES) do
    if given.fields[name] and choice then
      add(context, given.fields[name], "task." .. name, "stands beside task." .. choice, "one of the two")
      return nil
    end
    choice = given.fields[name] and name or choice
  end
  if not choice then
    local names = table.concat(values.kind_names(context, schema.at["task.kind"]), ", ")
    add(context, given, "task.kind", "is missing", names,
      'or of your own: task.source = "<kind>.c", task.data = "<file>.jsonl"')
  end
  return choice
end

-- The facts of a task, which specs share, with what one spec says: of its tokens, and whether input and target are
-- streams of their own.
local function with_streams(facts, resolved)
  local new = facts and copy(facts)
  if new then
    new.computation = resolved.task.computation
    new.apart = (resolved.model or {}).kind == "encoder_decoder" or nil
    new.readout = (resolved.model or {}).readout
  end
  return new
end

-- Fields that belong to another one of their section, which is not there. there: those that are, by name; nil: nobody
-- knows. beside: what stands there instead.
local function refuse_strangers(context, section, given, there, beside)
  for _, field in ipairs(there and schema.children[section] or {}) do
    local node = field.with and given.fields[field.name]
    if node and not there[field.with] then
      add(context, node, field.path, "does not go with " .. beside, ("%s.%s"):format(section, field.with))
    end
  end
end

-- What belongs to a network of the user's own stands beside one.
local function settle_model(context)
  local given = context.root.fields.model
  if tree.is_table(given) and not context.partial.model then
    refuse_strangers(context, "model", given, given.fields, "a network of Longhand's")
  end
end

-- What the task is: context.task, its facts. A user's own is of the kind that its file is named after.
local function settle_task(context)
  local given, task = context.root.fields.task, context.resolved.task
  if not task or not tree.is_table(given) then
    return
  end
  local choice = not context.partial.task and choice_of(context, given)
  refuse_strangers(context, "task", given, choice and { [choice] = true }, choice and "task." .. choice)
  if choice == "source" and context.own_task then
    task.kind = context.own_task.kind
    context.origins["task.kind"] = given.fields.source.origin
  end
  local facts = choice ~= "data" and (context.own_task or context.tasks[task.kind])
  if choice == "data" then
    facts = finite.of_files(context, given, task)
    finite.refuse_seed(context, given)
  end
  task.options = options.settle(context, facts)
  if choice ~= "data" and facts then
    local what
    facts, what = tasks.settle(facts, task.options)
    if not facts then
      add(context, given.fields.options or given, "task.options", what, "choices that the header's formulas allow")
    end
  end
  if facts and facts.sets then
    facts = finite.made(context, given, facts, task)
  elseif facts and choice ~= "data" then
    finite.refuse(context, given)
  end
  context.task = with_streams(facts, context.resolved)
  if context.task then
    losses.settle(context, given, context.task)
  end
  finite.settle_steps(context, context.task)
end

local function origin_text(origin)
  if origin.default then
    return "default"
  elseif origin.set then
    return origin.set
  end
  return ("%s:%d:%d"):format(origin.path, origin.line, origin.col)
end

-- The formula of a score, or nil; positions that only a score reads are drawn anew for every block. family: whose own
-- encoding it is; of: the family that it is for.
local function resolve_formula(context, texts, encoding, family, of)
  local nodes, path = values.formula(context, family), family and "encoding." .. family or "encoding"
  local formula = score.resolve(context, texts, { path = path, encoding = encoding,
    layers = families.layers(context.resolved.model, of), cross = of == "cross",
    causal = families.is_causal(context.resolved.model, of, encoding), score = nodes.score,
    parameters = nodes.parameters })
  if formula and encoding.positions.kind == "randomized"
    and features.score_reads_positions({ encoding = encoding })
    and context.origins[path .. ".positions.draw"] == DEFAULT then
    encoding.positions.draw = "layer"
  end
  return formula
end

-- The positions of cross-attention's two sides are those of two sequences: a distance is their difference, and what the
-- paper's system draws in its place is the default of the others alone. encoding: that of the family; own: its table in
-- the spec. Returns what takes this back where nothing turns out to read distances; else context.read_otherwise has the
-- reading that was asked for.
local function settle_cross(context, encoding, own)
  local given, path = encoding.positions, "encoding.cross.positions.reading"
  if not own or context.origins[path] == context.origins["encoding.positions.reading"] then
    path = "encoding.positions.reading"
  end
  if not given or given.kind ~= "randomized" or not given.reading or given.reading == "difference" then
    return function() end
  end
  encoding.positions = copy(given)
  encoding.positions.reading = "difference"
  return function()
    if not features.distances_are_read({ encoding = encoding }) then
      encoding.positions = own and given or nil
    elseif context.origins[path] ~= DEFAULT then
      context.read_otherwise = { path = path, value = given.reading }
    end
  end
end

-- The formula that cross-attention has of a score given for all, or nil where it does not take it. It is tried first:
-- what is wrong with a score there is an error where it is taken alone.
local function inherited_formula(context, texts, encoding, family)
  local trial = setmetatable({ diagnostics = diagnostics.new(), origins = {} }, { __index = context })
  local tried = setmetatable({ positions = copy(encoding.positions) }, { __index = encoding })
  resolve_formula(trial, texts, tried, family, "cross")
  if not tried.score or inherit.reads_places(tried.score) then
    encoding.score = not family and values.formula(context).score and "none" or nil
    return nil
  end
  return resolve_formula(context, texts, encoding, family, "cross")
end

-- The formula of the score, or nil. Of a model with several families { families = { name = formula } }: each is traced
-- on its own, since the number of layers may be part of it.
local function resolve_score(context, texts)
  local encoding, model = context.resolved.encoding, context.resolved.model
  local names = families.of(model)
  if not encoding or not names then
    return nil
  elseif not names[2] then
    return resolve_formula(context, texts, encoding, nil, names[1])
  end
  local formulas, before, shared = {}, context.diagnostics:count(), {}
  local given = context.loaded.tree.fields.encoding
  given = tree.is_table(given) and given or nil
  for _, name in ipairs(names) do
    local own = encoding[name]
    shared[name] = not own and setmetatable({}, { __index = encoding }) or nil
    local settle = name == "cross" and settle_cross(context, own or shared[name], own)
    if context.diagnostics:count() == before then
      local formula_of = name == "cross" and not inherit.asks_for_score(given) and inherited_formula or resolve_formula
      formulas[name] = formula_of(context, texts, own or shared[name], own and name, name)
    end
    if settle then
      settle()
    end
  end
  families.settle(encoding, names, shared, given and given.fields or {})
  return next(formulas) and { families = formulas } or nil
end

-- Learned vectors of distances are those that the mask leaves, unless the spec says which.
local function settle_sides(context)
  local encoding, model = context.resolved.encoding or {}, context.resolved.model
  local names = families.of(model) or {}
  for _, name in ipairs(names) do
    local own, path = encoding, "encoding.relative.sides"
    if names[2] then
      own, path = encoding[name] or {}, ("encoding.%s.relative.sides"):format(name)
    end
    local relative = own.relative
    if relative and relative.kind == "shaw" and context.origins[path] == DEFAULT
      and families.is_causal(model, name, own) then
      relative.sides = "left"
    end
  end
end

-- Validates a loaded spec. given.tasks is what tasks.read returned. Returns the resolved spec and info, or nil when
-- the diagnostics hold an error, from here or from before.
function M.resolve(loaded, d, given)
  local context = { diagnostics = d, tasks = given.tasks, root = inherit.lay(loaded.tree), loaded = loaded,
    origins = {}, formulas = {}, files = {}, partial = {}, dropped = {},
    resolved = { id = loaded.id, source = tongues.plain(loaded.source) } }
  read_children(context, "", context.root, context.resolved)
  settle_task(context)
  settle_model(context)
  settle_sides(context)
  context.init = checkpoint.read(context, context.root.fields.init)
  local known = next(context.partial) == nil -- else rules would speak of defaults in the place of what is meant
  local formula = known and resolve_score(context, loaded.texts)
  context.score = formula or nil
  context.good = d:count() == 0
  local warnings = known and rules.apply(context)
  if d:count() > 0 then
    return nil
  end
  local origins = {}
  for path, origin in next, context.origins do
    origins[path] = origin_text(origin)
  end
  table.move(warnings, 1, #warnings, #context.dropped + 1, context.dropped)
  return context.resolved, { origins = origins, warnings = context.dropped, task = context.task, files = context.files,
    score = formula or nil, network = context.own_network, init = context.init }
end

return M
