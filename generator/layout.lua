-- Where every tensor lies in the parameter vector.
--
-- Input: a plan with its dimensions and facets. Output, into the plan: tensors in the order of the C struct
-- `parameters` (templates/common/config.h.tpl), parameter_elements (size of that struct), parameter_storage (rounded
-- up to whole chunks), parameters (elements of learned tensors), tensor_count. A tensor that is not learned keeps its
-- initial values: runtime and device code leave its gradient out of everything.
-- Initial values: Haiku's, as in Ruoss et al. 2023 (truncated normal of sd 1 / sqrt(fan in), cut at two sd).

local M = {}

local CHUNK = 4096 -- LH_CHUNK

local KINDS = {
  constant = "LH_INIT_CONSTANT",
  values = "LH_INIT_VALUES",
  normal = "LH_INIT_NORMAL",
  truncated_normal = "LH_INIT_TRUNCATED_NORMAL",
}

local function adder(plan)
  local offset = 0
  local function add(name, shape, init, value, place)
    place = place or {}
    local stride = place.stride or shape[#shape]
    plan.tensors[#plan.tensors + 1] = {
      name = name,
      rank = #shape,
      shape = shape,
      shape_text = table.concat(shape, ", "),
      offset = offset + (place.column or 0),
      stride = stride,
      init = KINDS[init],
      value = value,
      learned = true,
    }
    local count = 1
    for _, extent in ipairs(shape) do
      count = count * extent
    end
    plan.parameters = plan.parameters + count
    if not place.more then
      offset = offset + (place.room or (#shape == 2 and shape[1] * stride or shape[1]))
    end
    return offset
  end
  return add
end

-- Dai et al. 2019, "Transformer-XL": a map of the distance's sinusoid, two biases per head; first values as in Ruoss et
-- al. 2023. Shaw et al. 2018, "Self-Attention with Relative Position Representations", keys only: one table for all
-- heads; they name no first values: Glorot and Bengio 2010, equation 12, as a normal of variance
-- 2 / (rows + columns).
local function add_relative(plan, add, prefix)
  local relative, C = plan.relative, plan.width
  if relative.kind == "transformer_xl" then
    add(prefix .. "weight", { C, C }, "truncated_normal", 1 / math.sqrt(C))
    add(prefix .. "content_bias", { plan.heads, plan.head_width }, "normal", 0.02)
    add(prefix .. "position_bias", { plan.heads, plan.head_width }, "normal", 0.02)
  elseif relative.kind == "shaw" then
    add(prefix .. "table", { relative.rows, relative.width }, "normal",
      math.sqrt(2 / (relative.rows + relative.width)), { room = relative.room })
  end
end

-- Csordas et al. 2022, "The Neural Data Router": a content bias per head; one scale, one scale of directions and one
-- offset for a layer's logits. One product makes the directions of all heads: (right, left), head after head.
local function add_geometric(plan, add, prefix)
  local normaliser, C = plan.normaliser, plan.width
  if normaliser.kind ~= "geometric" then
    return
  end
  add(prefix .. "geometric.content_bias", { plan.heads, plan.head_width }, "constant", 0)
  if normaliser.directional then
    local columns = normaliser.direction_width
    add(prefix .. "direction.weight", { C, 2 * plan.heads }, "truncated_normal", 1 / math.sqrt(C), { stride = columns })
    add(prefix .. "direction.bias", { 2 * plan.heads }, "constant", 0, { room = columns })
  end
  add(prefix .. "geometric.scale", { 1 }, "constant", plan.logit_scale)
  add(prefix .. "geometric.offset", { 1 }, "constant", 0,
    not normaliser.directional and { room = 1 + normaliser.fill } or nil)
  if normaliser.directional then
    add(prefix .. "direction.scale", { 1 }, "constant", 1, { room = 1 + normaliser.fill })
  end
end

-- Where given first values lie in the plan's list of them; equal lists of two layers are one.
local function place_values(plan, p)
  local known = plan.values_at[p.name]
  if not known then
    known = plan.initial_value_count
    plan.values_at[p.name] = known
    plan.initial_value_count = known + p.count
    plan.initial_values = (plan.initial_values and plan.initial_values .. ", " or "") .. p.values_text
  end
  return known
end

-- Learned numbers of the score: those of a layer, or those that all layers share. The offset behind them, or nil.
local function add_score(plan, add, prefix, per_layer)
  local last
  for _, p in ipairs(plan.score.learned) do
    if p.per_layer == per_layer then
      local init = type(p.init) == "table" and p.init or p.values and { kind = "values", sigma = place_values(plan, p) }
        or { kind = "constant", sigma = p.init }
      last = add(prefix .. "score." .. p.name, p.shape, init.kind, init.sigma, { room = p.room })
    end
  end
  return last
end

-- One product makes queries, keys and values, so the three weights share rows.
local function add_layer(plan, add, l)
  local C, F = plan.width, plan.feedforward
  local prefix = string.format("layers.%d.", l)
  local fan_c, fan_f = 1 / math.sqrt(C), 1 / math.sqrt(F)
  for i, name in ipairs({ "query", "key", "value" }) do
    add(prefix .. "attention." .. name .. ".weight", { C, C }, "truncated_normal", fan_c,
      { stride = 3 * C, column = (i - 1) * C, more = i < 3 })
  end
  add(prefix .. "attention.output.weight", { C, C }, "truncated_normal", fan_c)
  add_relative(plan, add, prefix .. "attention.relative.")
  add_geometric(plan, add, prefix .. "attention.")
  add(prefix .. "norm1.scale", { C }, "constant", 1)
  add(prefix .. "norm1.offset", { C }, "constant", 0)
  add(prefix .. "feedforward.up.weight", { C, F }, "truncated_normal", fan_c)
  add(prefix .. "feedforward.up.bias", { F }, "constant", 0)
  add(prefix .. "feedforward.down.weight", { F, C }, "truncated_normal", fan_f)
  add(prefix .. "feedforward.down.bias", { C }, "constant", 0)
  add(prefix .. "norm2.scale", { C }, "constant", 1)
  add(prefix .. "norm2.offset", { C }, "constant", 0)
  add_score(plan, add, prefix .. "attention.", true)
end

function M.tensors(plan)
  plan.tensors, plan.parameters = {}, 0
  plan.values_at, plan.initial_value_count, plan.initial_values = {}, 0, false
  local C, V = plan.width, plan.classes
  local add = adder(plan)
  add("embed.token.weight", { plan.tokens, C }, "truncated_normal", 0.02)
  if plan.additive.kind == "learned" then
    add("embed.position.weight", { plan.additive.rows, C }, "truncated_normal", plan.additive.init_sigma)
  end
  for l = 0, plan.layers - 1 do
    add_layer(plan, add, l)
  end
  add("output.weight", { C, V }, "truncated_normal", 1 / math.sqrt(C), { stride = plan.class_columns })
  local bias_end = add("output.bias", { V }, "constant", 0, { room = plan.class_columns })
  plan.parameter_elements = add_score(plan, add, "", false) or bias_end
  plan.parameter_storage = (plan.parameter_elements + CHUNK - 1) // CHUNK * CHUNK
  plan.tensor_count = #plan.tensors
end

return M
