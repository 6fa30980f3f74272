-- Converts a network to data for the tests' interpreter (kernels/ref/network.h), directly from the graph of its
-- description: operations are not fused, buffers not shared, and nothing else is derived.
--
-- Input: a network (builder.lua). Output:
--
--   classes, dropout_sites  as in lh_ref_network
--   tensors                 list of { name, rows, columns }
--   families                list of records with the fields of lh_ref_family
--   scopes                  list of records with the fields of lh_ref_scope and a name; first the network itself
--
-- Values, tensors, families and blocks are represented by their indices, from 0; the index of a block is that of its
-- scope. -1 is none.

local dropouts = require("network.graph.dropouts")
local lists = require("base.lists")
local parameters = require("network.graph.parameters")

local M = {}

local NONE = -1

local function to_flag(condition)
  return condition and 1 or 0
end

local TENSORS, PARTS = 13, 3 -- LH_REF_TENSORS, LH_REF_PARTS

local function list_tensors(net)
  local list, indices = {}, {}
  for i, t in ipairs(parameters.derive(net).tensors) do
    list[i] = { name = t.name, rows = t.rank == 2 and t.shape[1] or 1, columns = t.shape[t.rank] }
    indices[t.name] = i - 1
  end
  return list, indices
end

-- --- tensors by role, numbered by the enums of network.h -----------------------------------------------------------

local roles = {}

function roles.product(op)
  local names = {}
  for i, name in ipairs(op.p.tensors) do
    names[i], names[PARTS + i] = name .. ".weight", name .. ".bias"
  end
  return names
end

function roles.norm(op)
  return { op.p.path .. ".scale", op.p.path .. ".offset" }
end

function roles.embed(op)
  if op.p.kind == "linear" then
    return { op.p.path .. ".weight", "embed.position.weight", op.p.path .. ".bias" }
  end
  return { op.p.tensor, "embed.position.weight" }
end

function roles.recur(op)
  local names = { "input.weight", "input.bias", "recurrent.weight", "recurrent.bias", "read.weight", "actions.weight",
    "actions.bias" }
  local layers = op.cell == "tape_rnn" and { "write_1", "write_2", "write_3" } or { "push" }
  for _, layer in ipairs(layers) do
    lists.append(names, { layer .. ".weight", layer .. ".bias" })
  end
  return names
end

function roles.place(op)
  return { false, op.p and op.p.tensor }
end

function roles.attention(op)
  local path = op.path
  if op.family.normaliser.kind == "geometric" then
    return { false, path .. "geometric.content_bias", false, path .. "geometric.scale", path .. "geometric.offset",
      path .. "direction.scale" }
  end
  local relative = op.family.relative.kind == "transformer_xl" and "weight" or "table"
  return { path .. "relative." .. relative, path .. "relative.content_bias", path .. "relative.position_bias", false,
    false, false, path .. "score.key_gate", path .. "score.query_gate", path .. "score.strength",
    path .. "score.sharpness", path .. "score.slope" }
end

function roles.classify(op)
  return op.class_table and { op.class_table.tensor } or { "output.weight", false, false, "output.bias" }
end

-- --- scopes -------------------------------------------------------------------------------------------------------

-- Lists a scope's values in the order of their creation. Returns the list, and a table from each value to its index.
-- outer: the same table for the enclosing scope.
local function list_values(scope, width_of, outer)
  local values, indices = {}, {}
  local function add(value, outside)
    values[#values + 1] = { width = width_of(value), stream = value.stream.index, outside = outside or NONE }
    indices[value] = #values - 1
  end
  if scope.input_value then
    add(scope.input_value)
  end
  for _, inner in ipairs(scope.externals) do
    add(inner, outer[inner.external])
  end
  for _, op in ipairs(scope.ops) do
    add(op.out)
  end
  return values, indices
end

-- Returns a function that returns the channels of a value, without the padding that generated code adds to widths.
local function make_width_getter(net)
  return function(value)
    local op = value.op
    if op and op.kind == "classify" then
      return net.classes.count
    elseif op and op.kind == "product" and op.p.unpadded_count then
      return #op.p.tensors * op.p.unpadded_count
    end
    return value.width.count
  end
end

local OPERANDS = { add = { "residual", "branch" }, attention = { "q", "kv", "contribution" } }

-- The record of an operation, with the fields of lh_ref_operation. indices: the index of each value of the scope;
-- prefix: start of the names of the scope's tensors; first_tensor: index of the scope's first tensor.
local function describe_operation(state, op, indices, prefix, first_tensor)
  local record = { kind = op.kind, out = indices[op.out], x = {}, tensors = {}, parts = 0,
    f = op.activation or "relu", cell = op.cell or "no_cell", cells = op.cells or 0,
    is_rms = to_flag(op.norm == "rms"), is_tied = to_flag(op.class_table),
    first_class = op.class_table and op.class_table.rows.output or 0, scale = op.scale or op.deviation or 1,
    blanks = op.kind == "embed" and op.p.kind == "linear" and state.net.tokens.count - op.p.rows.count or 0,
    embedding = op.kind == "embed" and state.embeddings or 0,
    additive = op.encoding and op.encoding.kind or "none",
    interleaved = to_flag(op.encoding and op.encoding.interleaved), grid = op.encoding and op.encoding.grid or 0,
    period = op.encoding and op.encoding.period or 0, rate = op.dropout and op.dropout.rate or 0,
    stream = op.out.stream.index, dropout_site = op.dropout_number or 0, family = NONE, block = NONE }
  for i = 1, 3 do
    local value = op[(OPERANDS[op.kind] or { "x" })[i]]
    record.x[i] = value and indices[value] or NONE
  end
  state.embeddings = state.embeddings + (op.kind == "embed" and 1 or 0)
  local names = roles[op.kind] and roles[op.kind](op) or {}
  for i = 1, TENSORS do
    local index = names[i] and state.tensor_indices[prefix .. names[i]]
    record.tensors[i] = index and index - first_tensor or NONE
  end
  if op.kind == "product" then
    record.parts = #op.p.tensors
  elseif op.kind == "attention" then
    state.families[#state.families + 1] = op.family
    record.family = #state.families - 1
  elseif op.kind == "block" then
    record.block = state.block_indices[op.block]
  end
  record.x, record.tensors = table.concat(record.x, ", "), table.concat(record.tensors, ", ")
  return record
end

-- The tensors of a block's first repetition: the index of the first one in the network's list, and their count.
local function find_tensors(state, prefix)
  local first, count = 0, 0
  for i, t in ipairs(state.tensors) do
    if t.name:sub(1, #prefix) == prefix then
      first, count = count == 0 and i - 1 or first, count + 1
    end
  end
  return first, count
end

-- The record of a scope, and the index of each value of the scope. outer: the value indices of the enclosing scope.
local function describe_scope(state, scope, outer)
  local values, indices = list_values(scope, state.width_of, outer)
  local is_block = scope ~= state.net
  local prefix = is_block and not scope.is_group and scope:get_path(0) or ""
  local first, count = 0, #state.tensors
  if prefix ~= "" then
    first, count = find_tensors(state, prefix)
  end
  local operations = {}
  for i, op in ipairs(scope.ops) do
    operations[i] = describe_operation(state, op, indices, prefix, first)
  end
  return { name = scope.name, values = values, operations = operations,
    input = is_block and indices[scope.input_value] or NONE,
    output = is_block and indices[scope.output_value] or NONE, repetitions = scope.count or 1, loops = scope.loops or 1,
    times = is_block and scope.parent ~= state.net and scope.times or 0, is_group = to_flag(scope.is_group),
    has_pass_losses = to_flag(scope.has_pass_losses or false),
    first_tensor = first, tensor_count = count, dropout_layer = scope.first_counter_index or 0 }, indices
end

-- --- families -----------------------------------------------------------------------------------------------------

local function describe_rotation(rotation)
  local s = rotation.scaling or { kind = "none" }
  local factor = s.factor or 1
  return { base = rotation.base, scaling = s.kind == "none" and "unscaled" or s.kind, factor = factor,
    original_length = s.original_length or 1, beta_slow = s.beta_slow or 1, beta_fast = s.beta_fast or 1,
    attention_factor = s.attention_factor or 0.1 * math.log(factor) + 1 }
end

-- Describes a family's score by four values:
--
--   the sign of the gates that the score sums; 0: it sums none
--   1 if the score is additive GRAPE
--   1 if the score sums over keys
--   1 if the score is given in the batch
--
-- The interpreter knows only the values of tokens of the presets fox, cable, grape_key, grape_query and grape_both, and
-- only the sums over keys of the spec parity_float64_row_sums.
local function describe_score(score)
  local formula = score.formula or ""
  local gate_sign = formula:find("log_sigmoid(x.gate)", 1, true) and 1 or formula:find("log_sigmoid(-x.gate)", 1, true)
    and -1 or 0
  local has_grape = formula:find("x.key_gate", 1, true) or formula:find("x.query_gate", 1, true)
  local sums_rows = formula:find("sum_to_query", 1, true)
  local is_scored = gate_sign == 0 and not has_grape and not sums_rows and score.kind and score.kind ~= "none"
  return gate_sign, to_flag(has_grape), to_flag(sums_rows), to_flag(is_scored)
end

local function describe_family(family)
  local normaliser, mask = family.normaliser, family.mask
  local gate_sign, has_grape, sums_rows, has_score = describe_score(family.score)
  return { heads = family.heads,
    rotated_heads = family.rotation.kind == "none" and 0 or family.rotation.heads or family.heads,
    rotation = describe_rotation(family.rotation.kind ~= "none" and family.rotation or { base = 1 }),
    relative = family.relative.kind, divided = to_flag(not family.relative.factor), clip = family.relative.clip or 0,
    period = family.positions and family.positions.period or 0,
    farthest = family.relative.left and 0 or family.relative.clip or 0, temperature = normaliser.temperature or 1,
    has_score = has_score, gate_sign = gate_sign, has_grape = has_grape, sums_rows = sums_rows,
    is_geometric = to_flag(normaliser.kind == "geometric"), normalised = to_flag(normaliser.normalised),
    breaks_stick = to_flag(normaliser.kind == "stick_breaking"), own_key = to_flag(normaliser.own_key),
    own_value = to_flag(normaliser.own_value),
    left = mask.left or NONE, right = mask.right or NONE, stride = mask.stride or 0, width = mask.width or 0,
    left_only = to_flag(mask.left_only), lines = mask.list or {}, from_right = to_flag(mask.columns == "right"),
    causal = to_flag(mask.list and mask.causal), corner = mask.corner_choice or "none" }
end

function M.derive(net)
  -- The state of a conversion:
  --
  --   tensors         the list of tensors
  --   tensor_indices  the index of each tensor, by its name
  --   block_indices   the index of each block's scope
  --   families        the families of the attentions so far
  --   embeddings      the number of embeddings so far
  --   width_of        a function that returns the channels of a value
  local state = { net = net, families = {}, embeddings = 0, block_indices = {}, width_of = make_width_getter(net) }
  state.tensors, state.tensor_indices = list_tensors(net)
  for i, block in ipairs(net.scopes) do
    state.block_indices[block] = i
  end
  local scopes, value_indices = {}, {} -- value_indices[scope]: the index of each value of the scope
  for i, scope in ipairs(net.order) do
    scopes[i], value_indices[scope] = describe_scope(state, scope, value_indices[scope.parent or false] or {})
  end
  local families = {}
  for i, family in ipairs(state.families) do
    families[i] = describe_family(family)
  end
  return { classes = net.classes.count, dropout_sites = dropouts.find_max(net), tensors = state.tensors,
    families = families, scopes = scopes }
end

return M
