-- An encoder, and a causal decoder that looks at its output: Vaswani et al. 2017; embeddings, which both streams share,
-- and the norms behind the last blocks as in Duan and Shi 2024. Without layers the encoder is the embedding alone.

local stack = require("network.models.stack")

local SOURCE = "Duan and Shi 2024"

return function(net, model)
  local source, target = net:stream("source"), net:stream("target")
  local embed = { table = net:table("token"), scale = math.sqrt(model.width), place = net.input_place,
    dropout = net.additive_dropout }
  local memory = net:embed("source_embedding", source, embed)
  if model.encoder_layers > 0 then
    memory = stack(net, model, memory, { name = "encoder_layer", layers = model.encoder_layers,
      path = "encoder.layers.%d.", attention = "encoder", norm = "encoder_norm", norm_path = "encoder.norm",
      kind = "encoder", source = SOURCE })
  end
  local y = stack(net, model, net:embed("target_embedding", target, embed), { name = "decoder_layer",
    layers = model.decoder_layers, path = "decoder.layers.%d.", attention = "decoder", memory = memory,
    norm = "decoder_norm", norm_path = "decoder.norm", kind = "decoder", source = SOURCE })
  net:classify(net:readout(y, "last"), { tied = model.tied and embed.table })
end
