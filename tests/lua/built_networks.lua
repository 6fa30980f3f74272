-- Builds networks from descriptions, without a spec, for tests of generator/network.

local builder = require("network.graph.builder")
local networks = require("networks")

local M = {}

-- Attention families by name, each with 2 heads of 8 channels.
function M.make_families()
  local list = {
    self = {}, sloped = { slope = 0.5 }, causal = { causal = true }, cross = { cross = true },
    directional = { normaliser = { kind = "geometric", directional = true, padding = 13 },
      requested_value = { name = "direction", constant = "DIRECTION_WIDTH", width = 16, columns = 4, bias = true } },
  }
  for name, family in pairs(list) do
    family.name, family.prefix, family.heads, family.head_width, family.logit_scale = name, name .. "_", 2, 8, 1
    family.normaliser, family.relative = family.normaliser or { kind = "softmax" }, { kind = "none" }
    family.score = {}
  end
  return list
end

-- Builds the network of a description with 5 tokens, one of them blank, and 3 classes.
--   chunk      the description's name in messages
--   families   attention families by name; nil: the result of make_families
--   section    fields of the spec's model, and `additive`, the vectors that are added to tokens
function M.build(describe, chunk, families, section)
  section = section or {}
  return builder.build(describe, {
    model = { width = networks.WIDTH, embedding = section.embedding, readout = section.readout },
    tokens = { count = 5, text = "TOKENS" }, inputs = { count = 4, text = "INPUTS" },
    classes = { count = 3, padded = { count = 16, text = "CLASS_COLUMNS" } },
    families = families or M.make_families(),
    additive = section.additive or { kind = "sinusoid" },
  }, chunk)
end

-- Returns the description of a network that reads out what f(network, embedding of the input) returns.
function M.describe_embedded(f)
  return function(net)
    local x = net:embed("embedding", net:stream("source"), { scale = 2, place = net.additive })
    net:classify(net:readout(f(net, x), "last"))
  end
end

-- Returns a description of one block, which runs `count` times; f(block, input of the block, network, embedding)
-- returns the output of the block.
function M.describe_block(count, f)
  return M.describe_embedded(function(net, x)
    local b = net:block("layer", count, "A block.")
    b:output(f(b, b:input(x), net, x))
    return b.result
  end)
end

return M
