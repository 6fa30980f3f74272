-- An encoder, and a causal decoder that attends to the encoder's output: Vaswani et al. 2017. Both streams share
-- embeddings, and norms follow the last blocks: Duan and Shi 2024. An encoder without layers is the embedding alone.

local classify = require("network.models.output")
local stack = require("network.models.stack")
local tokens = require("network.models.tokens")

local SOURCE = "Duan and Shi 2024"

return function(net, model)
  local source, target = net:stream("source"), net:stream("target")
  local table = net:table("token")
  local memory = tokens(net, model, "source_embedding", source, table)
  if model.encoder_layers > 0 then
    memory = stack(net, model, memory, { name = "encoder_layer", layers = model.encoder_layers,
      path = "encoder.layers.%d.", attention = "encoder", norm = "encoder_norm", norm_path = "encoder.norm",
      kind = "encoder", source = SOURCE })
  end
  local y = stack(net, model, tokens(net, model, "target_embedding", target, table), { name = "decoder_layer",
    layers = model.decoder_layers, path = "decoder.layers.%d.", attention = "decoder", memory = memory,
    norm = "decoder_norm", norm_path = "decoder.norm", kind = "decoder", source = SOURCE })
  classify(net, model, y, "last", model.tied and table)
end
