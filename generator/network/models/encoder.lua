-- A bidirectional encoder, layer norm after each sub-layer: Ruoss et al. 2023, section 3; Vaswani et al. 2017.
-- The answers are read at the last tokens, which are empty.

return function(net, model)
  local source = net:stream("source")
  local x = net:embed("embedding", source, { scale = math.sqrt(model.width), place = net.additive,
    dropout = net.additive_dropout })
  local b = net:block("layer", model.layers,
    "One post-norm encoder block: Ruoss et al. 2023, section 3; Vaswani et al. 2017.")
  local h = b:input(x)
  local a = b:norm("norm1", b:add(h, b:attention("self", h, h), model.dropout))
  local f = b:feedforward(a, { hidden = model.feedforward, activation = "relu" })
  b:output(b:norm("norm2", b:add(a, f, model.dropout)))
  net:classify(net:readout(b.result, "last"))
end
