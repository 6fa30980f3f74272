-- Appends an attention to a network: its products, the operation itself, and the parameters that its facets learn.
-- Arguments and result: see M.attend.
--
-- A family is one kind of attention of a model: "self", "encoder", "decoder" or "cross". A family has heads and facets:
-- positions, rotation, relative, score, mask, lines, normaliser, projections. A second attention with the same facets
-- needs its own name, options.name.
-- One product computes queries, keys and values if they have the same input. Otherwise there are two products: one for
-- queries, and one for keys and values.

local canonical = require("base.canonical")
local checks = require("network.graph.checks")
local initial = require("network.graph.initial")
local lists = require("base.lists")

local M = {}

-- Functions that return the parameters of relative positions, by their kind. parameters.lua explains the fields of
-- parameters. path: the prefix of tensors' names in files; C: the model's width.
local list_relative_parameters = {}

-- A linear map from the sinusoid of a distance, and two biases for each head: Dai et al. 2019, "Transformer-XL".
-- Initial values: Ruoss et al. 2023.
function list_relative_parameters.transformer_xl(family, path, C)
  local prefix, shape = family.prefix, { family.heads, family.head_width }
  local map_init = { kind = "truncated_normal", value = 1 / math.sqrt(C.count) }
  local bias_init = { kind = "normal", value = 0.02 }
  return {
    { kind = "map", name = prefix .. "relative", size = "WIDTH * WIDTH", rows = C, columns = C,
      tensors = { { path .. "relative.weight", { C.count, C.count }, map_init } } },
    { kind = "facet", name = prefix .. "content_bias", size = "WIDTH", shares_line = true,
      tensors = { { path .. "relative.content_bias", shape, bias_init } } },
    { kind = "facet", name = prefix .. "position_bias", size = "WIDTH", shares_line = true, is_read_from_tables = true,
      tensors = { { path .. "relative.position_bias", shape, bias_init } } },
  }
end

-- One table for all heads, for keys only: Shaw et al. 2018, "Self-Attention with Relative Position Representations".
-- Initial values are normal with variance 2 / (rows + columns): Glorot and Bengio 2010, equation 12. The paper by Shaw
-- et al. states none.
function list_relative_parameters.shaw(family, path)
  local relative = family.relative
  return { { kind = "facet", name = family.prefix .. "relative_table", size = relative.padded_elements,
    elements = relative.padded_elements, is_read_from_tables = true,
    comment = (relative.left and "[CLIP + 1]" or "[2 CLIP + 1]") .. "[HEAD_WIDTH], padded to whole vectors",
    tensors = { { path .. "relative.table", { relative.rows, relative.width },
      { kind = "normal", value = relative.init_sigma } } } } }
end

-- One table for all heads: Golovneva et al. 2024, "Contextual Position Encoding". Initial values are 0, as in the code
-- of Golovneva et al.
function list_relative_parameters.cope(family, path)
  local relative = family.relative
  return { { kind = "facet", name = family.prefix .. "count_table", size = relative.padded_elements,
    elements = relative.padded_elements, comment = "[COUNT_ROWS][HEAD_WIDTH], padded to whole vectors",
    tensors = { { path .. "relative.table", { relative.rows, relative.width }, initial.ALL_ZERO } } } }
end

function list_relative_parameters.none()
  return {}
end

-- The content bias of geometric attention, for each head (Csordas et al. 2022, "The Neural Data Router").
local function make_content_bias(family, path)
  return { kind = "facet", name = family.prefix .. "content_bias", size = "WIDTH",
    tensors = { { path .. "geometric.content_bias", { family.heads, family.head_width }, initial.ALL_ZERO } } }
end

-- The numbers of geometric attention: scale and offset of logits, and the scale of directions if the family has them.
local function make_geometric_numbers(family, path)
  local numbers = {
    { path .. "geometric.scale", { 1 }, { kind = "constant", value = family.logit_scale } },
    { path .. "geometric.offset", { 1 }, initial.ALL_ZERO },
  }
  if family.normaliser.directional then
    numbers[3] = { path .. "direction.scale", { 1 }, initial.ALL_ONE }
  end
  return { kind = "facet", name = family.prefix .. "geometric", type = "geometric_numbers", tensors = numbers,
    elements = #numbers + family.normaliser.padding }
end

-- Lists learned parameters of a family's score. per_layer: true for the parameters that each layer has separately;
-- false for the parameters that all layers share.
local function list_score_parameters(family, path, per_layer)
  local function choose_init(learned)
    if type(learned.init) == "table" then
      return { kind = learned.init.kind, value = learned.init.sigma }
    elseif learned.values then
      return { kind = "values", parameter = learned }
    end
    return { kind = "constant", value = learned.init }
  end
  local declarations = {}
  for _, learned in ipairs(family.score.learned or {}) do
    if learned.per_layer == per_layer then
      declarations[#declarations + 1] = { kind = "facet", name = learned.member, size = learned.padded_count,
        elements = learned.padded_count, is_read_from_tables = not learned.by_token,
        comment = ("[%s], padded to whole vectors"):format(learned.shape_text),
        tensors = { { path .. "score." .. learned.name, learned.shape, choose_init(learned) } } }
    end
  end
  return declarations
end

-- Finds the family called `name`. With options.name, returns a copy of this family, called options.name.
-- A description runs several times (model_network.lua). In the first run, net.families has every family of the model,
-- and this function makes the copies. In later runs, net.families has the families and copies that the first run used.
local function find_family(scope, name, options)
  local net = scope.net
  local own_name = options.name or name
  local family, copy = net.families[name], net.families[own_name]
  if not family and copy then -- the first run used only the copy, so net.families lacks the family itself
    checks.fail(net, ("attention %s has the option { name = ... }, but no attention before it is named %q"):format(
      options.name, name), "block:attention(%q, queries, keys) for the first attention; only further attentions have "
        .. "{ name = ... }", name)
  elseif not family then
    checks.fail(net, ("no attention is named %q"):format(name), "one of %s",
      table.concat(canonical.sort_keys(net.families), ", "))
  end
  if net.used_families[own_name] then
    checks.fail(net, ("two attentions are named %s"):format(own_name), "another name: { name = ... }")
  end
  family = copy or setmetatable({ name = own_name, prefix = own_name .. "_" }, { __index = family })
  net.used_families[own_name] = family
  net.used_families[#net.used_families + 1] = family
  return family
end

-- Chooses the names of an attention:
--   prefix          the start of the names of values
--   branch          the name of the attention's result
--   output_weight   the name of the output product's weight
--   mask            the start of the name of the result's dropout mask
--   path            the prefix of tensors' names in files
local function choose_names(name, options)
  local own_name = options.name or name == "cross" and "cross" or nil
  if not own_name then
    return { prefix = "", branch = "branch", output_weight = "attention_output", mask = "attention",
      path = "attention." }
  end
  return { prefix = own_name .. "_", output_weight = own_name .. "_output", mask = own_name,
    branch = options.name and own_name .. "_branch" or "branch",
    path = options.name and own_name .. "." or own_name .. "_attention." }
end

-- Returns the dropout rate of attention weights: options.dropout, by default the family's rate.
local function choose_rate(scope, family, options)
  local rate = options.dropout or family.dropout_rate or 0
  local kind = family.normaliser.kind
  if rate ~= 0 and kind ~= "softmax" then
    checks.fail(scope.net, ("attention %s is %s, and its weights have dropout"):format(family.name, kind),
      "no dropout, or encoding.normaliser.kind = \"softmax\"")
  end
  return rate
end

-- Checks that queries and keys fit an attention of this family.
local function check_operands(net, name, family, queries, keys)
  local width = net.widths.WIDTH.count
  if queries.stream ~= keys.stream and not family.cross then
    checks.fail(net, ("attention %s has queries of stream %s and keys of stream %s"):format(name,
      queries.stream.name, keys.stream.name), "the attention \"cross\" for queries and keys of different streams")
  end
  if family.heads * family.head_width ~= width then
    checks.fail(net, ("attention %s has %d heads, which do not divide the width %d"):format(name, family.heads, width),
      "a number of heads that divides the width")
  elseif queries.width.count ~= width or keys.width.count ~= width then
    checks.fail(net, ("attention %s has queries of %d channels (%s) and keys of %d channels (%s)"):format(name,
      queries.width.count, queries.name, keys.width.count, keys.name), "values of the model's width, %d", width)
  end
end

-- Appends an attention to the block `scope` and returns its result, which is added to the residual stream.
--   name      the name of the family
--   queries   the value from which queries are computed
--   keys      the value from which keys and values are computed
-- Options:
--   name      the name of a second attention with the same facets
--   bias      whether products have biases; only used if the encoding does not state it
--   dropout   the dropout rate of attention weights, by default the family's rate
function M.attend(scope, name, queries, keys, options)
  options = options or {}
  checks.read(scope, queries, "the queries of attention")
  checks.read(scope, keys, "the keys of attention")
  local family, names = find_family(scope, name, options), choose_names(name, options)
  local C, path = scope.net.widths.WIDTH, names.path
  check_operands(scope.net, name, family, queries, keys)
  local projections = family.projections or {}
  local bias = projections.bias
  if bias == nil then
    bias = options.bias or false
  end
  local parameters = {} -- in the order of declaration
  local joint_columns = 3 * C.count -- columns of queries, keys and values together
  local has_linear_init = projections.init == "linear" -- the same initial values as weights outside attention
  local function add_product(value_name, input, width, product_options)
    product_options.declared = true
    if product_options.bias == nil then
      product_options.bias = bias
    end
    local out = scope:product(value_name, input, width, product_options)
    return out, out.op.p
  end
  -- A facet may request one more operand of attention, the contribution: a product of `keys` with a weight.
  local request = family.requested_value -- false without a request; its fields: facets/modules.lua
  local contribution, contribution_weight, q, kv
  if request then
    local width = scope:width((family.PREFIX or "") .. request.constant, request.width)
    width.is_requested = true
    contribution, contribution_weight = add_product(names.prefix .. request.name, keys, width, {
      tensors = { path .. request.name }, bias = request.bias or false, unpadded_count = request.columns,
      comment = request.comment, init = request.init and initial.make_scheme(request.init) })
  end
  local function project(value, ...)
    local tensors = lists.map({ ... }, function(tensor) return path .. tensor end)
    local out
    out, parameters[#parameters + 1] = add_product(names.prefix .. table.concat({ ... }, "_"), value, C,
      { attention_part = not has_linear_init and "queries" or nil, fan_out = joint_columns, tensors = tensors })
    return out
  end
  if queries == keys then
    q = project(queries, "query", "key", "value")
    kv = q
  else
    q, kv = project(queries, "query"), project(keys, "key", "value")
  end
  checks.read(scope, q, "queries")
  checks.read(scope, kv, "keys")
  local op = { kind = "attention", family = family, path = path, q = q, kv = kv, contribution = contribution,
    other_parameters = {}, is_named = options.name ~= nil }
  scope:drop_attention_weights(op, family.name, choose_rate(scope, family, options))
  if contribution then
    checks.read(scope, contribution, request.name)
  end
  local attended = scope:push(op, names.prefix .. "attended", C)
  attended.comment = "heads side by side"
  local branch = attended
  if projections.output ~= false then
    branch, parameters[#parameters + 1] = add_product(names.branch, attended, C, { weight = names.output_weight,
      tensors = { path .. "output" }, role = names.output_weight,
      attention_part = not has_linear_init and "attended" or nil })
  end
  lists.append(parameters, list_relative_parameters[family.relative.kind](family, path, C))
  local is_geometric = family.normaliser.kind == "geometric"
  parameters[#parameters + 1] = is_geometric and make_content_bias(family, path) or nil
  parameters[#parameters + 1] = contribution_weight
  parameters[#parameters + 1] = is_geometric and make_geometric_numbers(family, path) or nil
  for _, p in ipairs(parameters) do
    scope:declare(p)
    op.other_parameters[#op.other_parameters + 1] = p.kind ~= "weight" and p or nil
  end
  for _, p in ipairs(list_score_parameters(family, path, true)) do
    table.insert(scope.declared_last, p)
    table.insert(op.other_parameters, p)
  end
  -- Parameters that all layers share: their names begin with the family's name if the model has several families.
  local shared_path = family.prefix ~= "" and family.name .. "." or ""
  for _, p in ipairs(list_score_parameters(family, shared_path, false)) do
    table.insert(scope.net.declared_last, p)
  end
  branch.mask_name = names.mask
  branch.comment = branch.comment or "the branch of a residual connection"
  return branch
end

-- Returns the family of a block's first attention, or nil. The operation `place` of the block uses this family's
-- positions.
function M.find_family_of_positions(scope)
  return lists.any(scope.ops, function(op) return op.kind == "attention" and op.family end) or nil
end

return M
