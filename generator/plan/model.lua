-- The model: its network, built from its description, and what follows from that: parameters.
--
-- Input: a plan with its dimensions and encoding. Output: the graph (network/builder.lua), and into the plan: structs
-- (of parameters, as C has them), tensors, tensor_count, parameters (elements of learned tensors), parameter_elements
-- (size of the struct), parameter_storage (rounded up to whole chunks), initial_values; cpu (network/cpu.lua); widths,
-- { name, count } of those that need a constant; trace_sites, what trace_block can write, in its order.

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

-- Activations have channels, attentions heads; streams are the queries' and the keys'.
local function trace_sites(net)
  local sites = {}
  local function activation(name, value)
    sites[#sites + 1] = { name = name, channels = value.width.count, heads = 0, query = value.stream.index,
      key = value.stream.index }
  end
  local function repetition(block, path)
    for _, op in ipairs(block.ops) do
      if op.kind == "attention" then
        local own = op.family.name == "self" and path or path .. "." .. op.family.name
        sites[#sites + 1] = { name = own, channels = 0, heads = op.family.heads, query = op.q.stream.index,
          key = op.kv.stream.index }
      end
    end
    activation(path .. ".output", block.last)
  end
  for _, op in ipairs(net.ops) do
    if op.kind == "embed" then
      activation(op.out.name, op.out)
    elseif op.kind == "block" then
      for i = 0, op.block.count * op.block.loops - 1 do
        repetition(op.block, (op.block.path:format(i):gsub("%.$", "")))
      end
    end
  end
  return sites
end

-- Widths with a name of their own, in the order of the description; those of facets have theirs in dimensions.tpl.
local function widths(net)
  local list = {}
  for _, width in ipairs(net.widths) do
    if width.text ~= "WIDTH" and width.text ~= "DIRECTION_WIDTH" then
      list[#list + 1] = { name = width.text, count = width.count }
    end
  end
  return list
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
  plan.widths, plan.trace_sites = widths(net), trace_sites(net)
  plan.trace_site_count = #plan.trace_sites
  plan.cpu = cpu.derive(net, derived.structs, plan.eval_dropout)
  plan.parameter_elements, plan.parameter_storage = derived.elements, derived.storage
  return net
end

return M
