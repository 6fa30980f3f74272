-- Where every tensor lies in the parameter vector.
--
-- Input: a plan with its dimensions and facets. Output, into the plan: tensors in the order of the C struct
-- `parameters` (templates/common/config.h.tpl), parameter_elements (size of that struct), parameter_storage (rounded
-- up to whole chunks), parameters (elements of learned tensors), tensor_count.
-- Initial values: Haiku's, as in Ruoss et al. 2023 (truncated normal of sd 1 / sqrt(fan in), cut at two sd).

local M = {}

local CHUNK = 4096 -- LH_CHUNK

local KINDS = {
  constant = "LH_INIT_CONSTANT",
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
    }
    local count = 1
    for _, extent in ipairs(shape) do
      count = count * extent
    end
    plan.parameters = plan.parameters + count
    if not place.more then
      offset = offset + (#shape == 2 and shape[1] or 1) * (#shape == 2 and stride or place.room or shape[1])
    end
    return offset
  end
  return add
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
  add(prefix .. "norm1.scale", { C }, "constant", 1)
  add(prefix .. "norm1.offset", { C }, "constant", 0)
  add(prefix .. "feedforward.up.weight", { C, F }, "truncated_normal", fan_c)
  add(prefix .. "feedforward.up.bias", { F }, "constant", 0)
  add(prefix .. "feedforward.down.weight", { F, C }, "truncated_normal", fan_f)
  add(prefix .. "feedforward.down.bias", { C }, "constant", 0)
  add(prefix .. "norm2.scale", { C }, "constant", 1)
  add(prefix .. "norm2.offset", { C }, "constant", 0)
end

function M.tensors(plan)
  plan.tensors, plan.parameters = {}, 0
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
  plan.parameter_elements = add("output.bias", { V }, "constant", 0, { room = plan.class_columns })
  plan.parameter_storage = (plan.parameter_elements + CHUNK - 1) // CHUNK * CHUNK
  plan.tensor_count = #plan.tensors
end

return M
