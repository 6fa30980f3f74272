-- The Python classes of a network: one for each block, one for each composite with its own folder of tensors (a
-- feed-forward network, an attention), and one for the network itself.
--
-- Input: an unfused network (network/graph/builder.lua), and further facts, which M.derive documents. Output, a table:
--   list            the classes, without the network's, in the order in which Python must read them
--   network         the class of the network
--   renamed         attributes that have other names in checkpoints (python_names.lua)
--   variables       names of variables in the network's forward pass, in three tables by stream:
--     place             its positions
--     distance          its distances
--     memory_distance   its distances to keys of the other stream
-- A class:
--   name            its name
--   template        the template that writes the class
--   docstring       the text of its docstring, or false
--   takes_layer     whether its constructor takes the index of its layer
--   modules         its attributes: { name, text }, or { name, type, entries }, with entries { name, text }
--   arguments       the text of the arguments of its forward pass
--   lines           the lines of its forward pass
--   attention       of an attention: the facts for its template; the class then has no modules and lines
-- If Python has no equivalent of a part of the network, M.derive ends the command (lab/stop.lua) and names this part.

local canonical = require("base.canonical")
local forward = require("lab.export.forward")
local composites = require("lab.export.composites")
local lists = require("base.lists")
local names_module = require("lab.export.python_names")
local operations = require("lab.export.operations")
local parts = require("lab.export.parts")
local escape = require("base.escape")
local stop = require("lab.stop")

local M = {}

local INPUT = 1

-- A class has further fields until it is finished:
--   state           what M.derive knows about the whole network
--   extra_inputs    the values that its attentions read, by name (collect_facets of pytorch.lua): true, or for
--                   parameters that layers share, the folder of their tensors
--   attributes      the set of taken names of attributes
--   dictionaries    attributes that are dictionaries of modules, by the folder of their tensors
--   expressions     the Python expressions of its modules, by the key with which each module was added
--   is_block        whether it is the class of a block
--   uses_positions  whether it contains an attention or adds an encoding of positions
--   folder          the folder of a composite's tensors, or nil
--   rate_count      the number of its different dropout rates
-- In methods, p is a parameter of the network (network/graph/builder.lua).
local Class = {}
Class.__index = Class

local function new_class(state, docstring)
  return setmetatable({ state = state, docstring = docstring or false, takes_layer = false, modules = {},
    extra_inputs = {}, template = "python/class.tpl", attributes = names_module.new_attributes(), dictionaries = {},
    expressions = {}, is_block = docstring ~= nil }, Class)
end

-- Adds a module, { text } or { type, entries }, as an attribute. Returns the attribute's expression. word: the
-- module's name in checkpoints.
function Class:add_attribute(word, module)
  module.name = self.state.names:add_attribute(self.attributes, word)
  self.modules[#self.modules + 1] = module
  return "self." .. module.name
end

-- Returns the expression of the module with this key. The first call with a key adds the module.
--   path   the module's path in checkpoints, such as "up", or "embed.token" in a dictionary
--   text   the expression that constructs the module
function Class:add_module(key, path, text)
  if self.expressions[key] then
    return self.expressions[key]
  end
  local folder, word = path:match("^(.-)%.(.*)$")
  if not folder then
    self.expressions[key] = self:add_attribute(path, { text = text })
    return self.expressions[key]
  end
  local dictionary = self.dictionaries[folder]
  if not dictionary then
    dictionary = { type = "nn.ModuleDict", entries = {}, used_names = names_module.new_attributes() }
    dictionary.expression, self.dictionaries[folder] = self:add_attribute(folder, dictionary), dictionary
  end
  local name = self.state.names:add_attribute(dictionary.used_names, word)
  table.insert(dictionary.entries, { name = name, text = text })
  self.expressions[key] = ('%s["%s"]'):format(dictionary.expression, name)
  return self.expressions[key]
end

local function format_bias(p)
  return p.bias and "" or ", bias=False"
end

-- Returns the expressions of the linear modules of a matrix product. In a composite, a module's name is the tensor's
-- name without the composite's folder.
function Class:add_linears(p)
  return lists.map(p.tensors, function(path)
    return self:add_module(path, self.folder and path:sub(#self.folder + 2) or path, ("nn.Linear(%s, %s%s)"):format(
      p.rows.text, p.width.text, format_bias(p)))
  end)
end

local NORMS = { layer = "nn.LayerNorm(%s)", rms = "nn.RMSNorm(%s, eps=1e-5)" }

function Class:add_norm(p)
  return self:add_module(p, p.path or p.name, NORMS[p.norm]:format(p.columns.text))
end

function Class:add_table(p)
  local rows = p.rows == self.state.net.tokens and "TOKENS" or ("%d"):format(p.rows.count)
  return self:add_module(p, (p.tensor:gsub("%.weight$", "")), ("nn.Embedding(%s, %s)"):format(rows, p.columns.text))
end

function Class:add_linear(p)
  return self:add_module(p, p.path, ("nn.Linear(%d, %s)"):format(p.rows.count, p.columns.text))
end

function Class:add_output(p)
  return self:add_module(p, p.name, ("nn.Linear(%s, CLASSES)"):format(p.rows.text))
end

function Class:add_dropout(dropout)
  local rate = dropout.rate
  if not self.expressions[rate] then
    local name = names_module.add_variable(self.attributes, self.rate_count > 1 and dropout.name:lower() .. "_dropout"
      or "dropout")
    self.modules[#self.modules + 1] = { name = name, text = ("nn.Dropout(%.9g)"):format(rate) }
    self.expressions[rate] = "self." .. name
  end
  return self.expressions[rate]
end

function Class:get_tokens(stream)
  return self.state.net.streams[2] and stream.name or "tokens"
end

-- Returns the variable of the positions that the task gives to a stream's tokens.
function M.name_positions(net, stream)
  return net.streams[2] and stream.name .. "_positions" or "positions"
end

-- Names a variable of the network's forward pass. quantity: a key of state.variables.
local function name_variable(state, quantity, stream)
  local name = state.net.streams[2] and stream.name .. "_" .. quantity or quantity
  state.variables[quantity][stream] = name
  return name
end

-- Returns the expression of a stream's encoded positions.
--   table_parameter   a learned table, or nil
--   like              the expression of a tensor whose type the result gets
function Class:add_position(encoding, table_parameter, stream, like)
  if encoding.draw and encoding.draw.by_token then
    local place = encoding.draw.by_token.greatest_position and M.name_positions(self.state.net, stream)
      or ("number_digits(%s)"):format(self:get_tokens(stream)) -- digits.py.tpl
    return ("%s(%s)"):format(self:add_table(table_parameter), place)
  end
  self.extra_inputs.positions = self.is_block or nil
  local place = self.is_block and "positions" or name_variable(self.state, "place", stream)
  if encoding.kind == "sinusoid" then
    local function_name = encoding.member == "place" and "places" or "sinusoid" -- of model.py.tpl
    return ("%s(%s, %s)"):format(function_name, place, like)
  end
  return ("%s(%s%s)"):format(self:add_table(table_parameter), place, self.state.one_based and " - 1" or "")
end

-- Names a class and adds it to the list. Returns the class. If an earlier class has the same texts, returns the earlier
-- class and adds none, except for a block.
-- ...: words. The first word that names no other class becomes the name; if there is none, the last word.
local function add_class(state, class, ...)
  local key = canonical.format({ class.modules, class.lines or {}, class.attention or {}, class.arguments })
  if not class.is_block and state.class_by_text[key] then
    return state.class_by_text[key]
  end
  local words = { ... }
  class.name = state.names:add_class(lists.find(words, function(word)
    return not state.names.classes[names_module.to_camel(word)]
  end) or words[#words])
  state.class_by_text[key] = class
  state.list[#state.list + 1] = class
  return class
end

-- Counts the different dropout rates of a class's operations, without the operations of composites.
local function count_rates(class, ops, composite_by_op)
  class.rate_count = #lists.drop_repeats(lists.map(ops, function(op)
    return op.dropout and not composite_by_op[op] and op.dropout.rate or nil
  end))
end

local function make_composite_class(state, composite, scope_name)
  local class = new_class(state)
  class.folder, class.arguments = composite.path, "h"
  count_rates(class, composite.list, {})
  local items = lists.map(operations.list_own(composite.list), function(op) return operations.make(op, class) end)
  class.lines = forward.write({ items = items, result = composite.out, width = composite.entry.width.count,
    h_value = composite.entry, names = { [composite.entry] = "h" }, arguments = {} })
  return add_class(state, class, composite.path, scope_name .. "_" .. composite.path)
end

-- Arguments that the forward pass of a block may have in addition to values of the network.
local EXTRA_INPUTS = { "positions", "memory_positions", "distance", "memory_distance", "shared", "memory_shared" }

local function list_extra_inputs(class)
  return lists.map(EXTRA_INPUTS, function(name) return class.extra_inputs[name] and name or nil end)
end

-- Returns the network's variables that this stream passes to a class.
local function list_passed_variables(state, class, stream)
  local list = list_extra_inputs(class)
  for i, input in ipairs(list) do
    local shared_folder = class.extra_inputs[input] ~= true and class.extra_inputs[input]
    if shared_folder then
      list[i] = state.shared[shared_folder]
    else
      local read_stream = input == "memory_positions" and state.net.streams[2 - stream.index] or stream
      list[i] = name_variable(state, input:find("distance$") and input or "place", read_stream)
    end
  end
  return list
end

local function add_extra_inputs(class, inner_class)
  lists.update(class.extra_inputs, inner_class.extra_inputs)
  class.takes_layer = class.takes_layer or inner_class.takes_layer
end

local function make_attention_class(state, composite)
  local op, class = composite.attention, new_class(state)
  local facts = state.facets[op]
  class.extra_inputs, class.takes_layer = facts.extra_inputs, facts.takes_layer
  class.template = "attention/python/attention.tpl"
  local arguments = { "h", composite.reads[2] and "memory" or nil }
  class.arguments = table.concat(lists.append(arguments, list_extra_inputs(class)), ", ")
  class.attention = lists.merge(facts.text, { arguments = class.arguments,
    memory = composite.reads[2] and "memory" or "h", query_bias = format_bias(op.q.op.p),
    memory_positions = class.extra_inputs.memory_positions and "memory_positions" or "positions",
    distance = class.extra_inputs.memory_distance and "memory_distance" or "distance",
    layer_argument = class.takes_layer and ", layer" or "", memory_bias = format_bias(op.kv.op.p),
    output = composite.last ~= op, output_bias = composite.last ~= op and format_bias(composite.last.p) })
  local unique_class = add_class(state, class, composite.path, op.family.name .. "_" .. composite.path)
  if unique_class == class then
    class.attention.name = class.name
    state.parts:add(class)
  end
  return unique_class
end

local function make_composite_item(state, class, composite, scope)
  local inner_class = composite.attention and make_attention_class(state, composite)
    or make_composite_class(state, composite, scope.name)
  local is_outside_blocks = scope == state.net
  add_extra_inputs(class, inner_class)
  if is_outside_blocks and inner_class.takes_layer then
    stop.exit(INPUT, ("the layer index of attention %s outside of a block"):format(composite.attention.family.name))
  end
  local module = class:add_attribute(composite.path, { text = ("%s(%s)"):format(inner_class.name,
    inner_class.takes_layer and "layer" or "") })
  local variables = is_outside_blocks and list_passed_variables(state, inner_class, composite.out.stream)
    or list_extra_inputs(inner_class)
  return { out = composite.out, reads = composite.reads, rank = operations.PRIMARY, text = function(operand)
    local arguments = { operand(1, 0), composite.reads[2] and operand(2, 0) or nil }
    return ("%s(%s)"):format(module, table.concat(lists.append(arguments, variables), ", "))
  end }
end

local make_block_class, list_items

-- Returns the number of loops over a scope's repetitions, or an argument of the forward pass that has this number.
local function get_loop_count(scope)
  return scope.passes_by_length and "passes" or scope.loops
end

-- Makes the item of a group: a loop that runs the group's own items `times` times.
local function make_loop_of_items(state, class, op)
  local group = op.block
  return { out = op.out, reads = { op.x, table.unpack(op.externals) }, group = { name = group.name, scope = group,
    times = get_loop_count(group), items = list_items(state, class, group) } }
end

local function make_loop_item(state, class, op)
  local block, inner_class = op.block, make_block_class(state, op.block)
  local lines = inner_class.uses_positions and state.in_layers or {}
  if block.loops > 1 and #lines > 0 then -- each layer samples once for all loops
    stop.exit(INPUT, ("samples for each layer in %s, which runs several times"):format(block.title))
  end
  add_extra_inputs(class, inner_class)
  class.takes_layer = false
  local text = inner_class.takes_layer and "%s(layer) for layer in range(%s)" or "%s() for _ in range(%s)"
  local modules = class:add_module(block, (block.path:gsub("%.%%d%.$", "")), -- without ".%d.", the layer's index
    ("nn.ModuleList(%s)"):format(text:format(inner_class.name, block.count_name)))
  return { out = op.out, reads = { op.x, table.unpack(op.externals) }, loop = { name = block.name,
    times = block.parent.is_group and 1 or get_loop_count(block), modules = modules,
    arguments = list_passed_variables(state, inner_class, op.x.stream), lines = lines } }
end

-- Returns the blocks that an operation runs, if these are layers with different encodings. A cycle has several blocks.
local function list_layer_blocks(op)
  local list = op.kind == "block" and (op.block.name == "cycle" and op.block.ops or { op }) or {}
  return lists.map(list, function(inner) return inner.block.get_number and inner.block end)
end

-- Returns the name of the encoding of a block's attention, an entry of the spec's list of encodings by layer.
local function find_entry(block)
  return lists.find(block.ops, function(op) return op.kind == "attention" end).family.spec_name
end

-- Makes the item of layers with different encodings: one loop over modules of several classes. The loop has one call,
-- so each class takes all arguments that any class needs.
local function make_layers_item(state, class, layer_ops)
  local blocks, extra_inputs, layer_names = lists.collect(layer_ops, list_layer_blocks), {}, {}
  local classes = {} -- a list of the classes; also has each class by the name that find_entry returns
  for _, block in ipairs(blocks) do
    local entry = find_entry(block)
    classes[#classes + 1] = not classes[entry] and make_block_class(state, block) or nil
    classes[entry] = classes[entry] or classes[#classes]
    for i = 0, block.count - 1 do
      layer_names[block.get_number(i) + 1] = classes[entry].name
    end
  end
  for _, inner_class in ipairs(classes) do
    if inner_class.takes_layer or extra_inputs.shared and inner_class.extra_inputs.shared then
      stop.exit(INPUT, inner_class.takes_layer and "the layer index of layers with different encodings"
        or "layers with different encodings, if several of these have score parameters that all layers share")
    end
    lists.update(extra_inputs, inner_class.extra_inputs)
  end
  for _, inner_class in ipairs(classes) do
    inner_class.extra_inputs = extra_inputs
    inner_class.arguments = table.concat(lists.join({ "h" }, list_extra_inputs(inner_class)), ", ")
  end
  add_extra_inputs(class, classes[1])
  local lines = lists.any(classes, function(inner) return inner.uses_positions end) and state.in_layers or {}
  if blocks[1].loops > 1 and #lines > 0 then -- each layer samples once for all loops
    stop.exit(INPUT, "samples for each layer in layers that run several times")
  end
  local period = lists.find_period(layer_names)
  local names = table.concat(layer_names, ", ", 1, period)
  local modules = class:add_module(blocks[1], (blocks[1].path:gsub("%.%%d%.$", "")),
    ("nn.ModuleList((%s)[layer %% %d]() for layer in range(%d))"):format(names, period, #layer_names))
  return { out = layer_ops[#layer_ops].out, reads = { layer_ops[1].x }, loop = { name = "layer", times = 1,
    modules = modules, arguments = list_passed_variables(state, classes[1], layer_ops[1].x.stream), lines = lines } }
end

function list_items(state, class, scope)
  local items, composite_by_op = {}, composites.find_composites(scope)
  local layer_ops = lists.filter(scope.ops, function(op) return list_layer_blocks(op)[1] end)
  if not scope.is_group then -- a group is a part of an outer class, whose rates are counted already
    count_rates(class, scope.ops, composite_by_op)
  end
  for _, op in ipairs(operations.list_own(scope.ops)) do
    local composite = composite_by_op[op]
    class.uses_positions = class.uses_positions or op.kind == "attention" or op.kind == "place"
    if lists.has(layer_ops, op) then
      items[#items + 1] = op == layer_ops[1] and make_layers_item(state, class, layer_ops) or nil
    elseif composite and composite.last == op then
      items[#items + 1] = make_composite_item(state, class, composite, scope)
    elseif op.kind == "block" and op.block.is_group then
      items[#items + 1] = make_loop_of_items(state, class, op)
    elseif not composite and op.kind == "block" then
      items[#items + 1] = make_loop_item(state, class, op)
    elseif not composite then
      items[#items + 1] = operations.make(op, class)
    end
  end
  return items
end

make_block_class = function(state, block)
  local class = new_class(state, escape.python(block.comment))
  local items = list_items(state, class, block)
  local variables = names_module.new_variables({ "h", table.unpack(list_extra_inputs(class)) })
  local value_names = { [block.input_value] = "h" }
  local arguments = lists.join({ "h" }, lists.map(block.externals, function(value)
    value_names[value] = names_module.add_variable(variables, value.name)
    return value_names[value]
  end))
  class.arguments = table.concat(lists.append(arguments, list_extra_inputs(class)), ", ")
  class.lines = forward.write({ items = items, result = block.output_value, width = block.input_value.width.count,
    h_value = block.input_value, names = value_names, arguments = arguments })
  return add_class(state, class, block.name)
end

-- Adds the parameters that all layers share to the network's class. Sets state.shared: their expressions, by path.
local function share_parameters(state, class)
  for _, shared in ipairs(state.shared_parameters) do
    local entries = lists.map(shared.entries, function(entry) return ('"%s": %s'):format(entry.name, entry.text) end)
    local text = ("nn.ParameterDict({%s})"):format(table.concat(entries, ", "))
    state.shared[shared.path] = shared.path:find("%.") and class:add_module(shared, shared.path, text)
      or class:add_attribute(shared.path, { type = "nn.ParameterDict", entries = shared.entries })
  end
end

local function make_network_class(state)
  local class = new_class(state)
  share_parameters(state, class)
  local items = list_items(state, class, state.net)
  local passes_by_length = lists.any(state.net.scopes, function(scope) return scope.passes_by_length end)
  local arguments = { "tokens", "positions", "distances", "noise", passes_by_length and "passes" or nil }
  for _, stream in ipairs(state.net.streams) do
    lists.append(arguments, lists.map({ "", "_place", "_positions", "_distance", "_memory_distance" }, function(ending)
      return stream.name .. ending
    end))
  end
  class.lines = forward.write({ items = items, result = state.net.classified, width = state.net.widths.WIDTH.count,
    names = {}, arguments = arguments })
  return class
end

-- Returns the classes of an unfused network. facts, a table:
--   name        the name of the network's class
--   tensors     the plan's tensors
--   facets      facts about each attention, by its operation (pytorch.lua)
--   shared      parameters that all layers share: { path, entries }
--   in_layers   lines of Python before each repetition of a block that has an attention or adds an encoding
--   one_based   whether positions begin at 1
function M.derive(net, facts)
  -- class_by_text: finished classes, by their texts
  local state = { net = net, names = names_module.new(facts.tensors), facets = facts.facets,
    shared_parameters = facts.shared, in_layers = facts.in_layers, one_based = facts.one_based, class_by_text = {},
    list = {}, parts = parts.new(), shared = {}, variables = { place = {}, distance = {}, memory_distance = {} } }
  local name = state.names:add_class(facts.name)
  local network = make_network_class(state)
  network.name = name
  return { list = state.list, network = network, renamed = state.names.renamed, variables = state.variables }
end

return M
