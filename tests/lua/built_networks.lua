-- Networks of descriptions, as tests of generator/network build them.

local builder = require("network.graph.builder")
local networks = require("networks")

local M = {}

-- Attentions with heads of 8 channels.
function M.families()
  local list = {
    self = {}, sloped = { slope = 0.5 }, causal = { causal = true }, cross = { cross = true },
    directional = { normaliser = { kind = "geometric", directional = true, fill = 13 },
      asks = { name = "direction", constant = "DIRECTION_WIDTH", width = 16, columns = 4, bias = true } },
  }
  for name, family in pairs(list) do
    family.name, family.prefix, family.heads, family.head_width, family.logit_scale = name, name .. "_", 2, 8, 1
    family.normaliser, family.relative = family.normaliser or { kind = "softmax" }, { kind = "none" }
    family.score = {}
  end
  return list
end

-- Builds the network of a description with 5 tokens, one of them blank, and 3 classes. given: families of attentions;
-- section: the model's section, with the vectors added to tokens.
function M.build(describe, chunk, given, section)
  section = section or {}
  return builder.build(describe, {
    model = { width = networks.WIDTH, embedding = section.embedding, readout = section.readout },
    tokens = { count = 5, text = "TOKENS" }, inputs = { count = 4, text = "INPUTS" },
    classes = { count = 3, padded = { count = 16, text = "CLASS_COLUMNS" } },
    families = given or M.families(),
    additive = section.additive or { kind = "sinusoid" },
  }, chunk)
end

-- A description: f receives the network and the embedding of its input, and returns the result.
function M.embedded(f)
  return function(net)
    local x = net:embed("embedding", net:stream("source"), { scale = 2, place = net.additive })
    net:classify(net:readout(f(net, x), "last"))
  end
end

-- A description: f receives a block, the input of the block, the network and its embedding, and returns the output of
-- the block.
function M.in_block(count, f)
  return M.embedded(function(net, x)
    local b = net:block("layer", count, "A block.")
    b:output(f(b, b:input(x), net, x))
    return b.result
  end)
end

return M
