-- Positions are added in two blocks, the first of which has fewer layers.
return function(net, model)
  local x = net:embed("embedding", net:stream("source"), { scale = 2 })
  local front = net:block("front", 1, "One attention.")
  local h = front:place(front:input(x), net.additive)
  front:output(front:norm("norm1", front:add(h, front:attention("self", h, h, { name = "near" }), model.dropout)))
  local block = net:block("tower", model.layers, "Two attentions.")
  local a = block:place(block:input(front.result), net.additive)
  local s = block:norm("norm1", block:add(a, block:attention("self", a, a), model.dropout))
  local f = block:norm("norm2", block:add(s, block:attention("self", s, s, { name = "again", bias = true })))
  local hidden = { hidden = model.feedforward, activation = "relu", bias = true }
  block:output(block:norm("norm3", block:add(f, block:feedforward(f, hidden), model.dropout)))
  net:classify(net:readout(block.result, "last"))
end
