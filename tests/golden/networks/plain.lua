-- The encoder as Longhand has it, with options for its activation and the size of its feed-forward layers.
return function(net, model)
  local kind, ratio = model.options.kind or model.activation, model.options.ratio
  local x = net:embed("embedding", net:stream("source"), { scale = sqrt(model.width), place = net.additive,
    dropout = net.additive_dropout })
  local block = net:block("layer", model.layers, "One post-norm encoder block.")
  local h = block:input(x)
  local a = block:norm("norm1", block:add(h, block:attention("self", h, h), model.dropout))
  local f = block:feedforward(a, { hidden = ratio and ratio * model.width or model.feedforward, activation = kind })
  block:output(block:norm("norm2", block:add(a, f, model.dropout)))
  net:classify(net:readout(block.result, "last"))
end
