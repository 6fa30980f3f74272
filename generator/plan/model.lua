-- The model: its network, built from its description, and what follows from that: parameters.
--
-- Input: a plan with its dimensions and encoding. Output: the graph (network/builder.lua), and into the plan: structs
-- (of parameters, as C has them), tensors, tensor_count, parameters (elements of learned tensors), parameter_elements
-- (size of the struct), parameter_storage (rounded up to whole chunks), initial_values.

local builder = require("network.builder")
local cpu = require("network.cpu")
local parameters = require("network.parameters")

local M = {}

local DESCRIPTIONS = {
  encoder = require("network.models.encoder"),
  decoder = require("network.models.decoder"),
}

-- What a description sees of the model's section: fields that are left out have their defaults.
local LEFT_OUT = { norm = { kind = "layer", place = "post" }, activation = "relu", bias = "feedforward",
  init = "haiku", tied = false }

local function section(given)
  local model = {}
  for name, value in pairs(LEFT_OUT) do
    model[name] = value
  end
  for name, value in pairs(given) do
    model[name] = value
  end
  return model
end

local function families_of(plan)
  local families = {}
  for _, family in ipairs(plan.attentions) do
    families[family.name] = family
  end
  return families
end

-- The graph of a plan's model, as its description left it.
function M.network(plan)
  local resolved = plan.resolved
  return builder.build(DESCRIPTIONS[resolved.model.kind], {
    model = section(resolved.model),
    tokens = { count = plan.tokens, text = "TOKENS" },
    classes = { count = plan.classes, padded = { count = plan.class_columns, text = "CLASS_COLUMNS" } },
    families = families_of(plan),
    additive = plan.additive,
  })
end

function M.derive(plan)
  local net = M.network(plan)
  local derived = parameters.derive(net)
  plan.structs, plan.tensors, plan.tensor_count = derived.structs, derived.tensors, #derived.tensors
  plan.parameters, plan.initial_values = derived.count, derived.initial_values
  plan.cpu = cpu.derive(net, derived.structs, plan.eval_dropout)
  plan.parameter_elements, plan.parameter_storage = derived.elements, derived.storage
  return net
end

return M
