-- Blocks that attend more than once: twice in a row, and side by side; a stack before them.
return function(net, model)
  local x = net:embed("embedding", net:stream("source"), { scale = 2, place = net.additive, dropout = model.dropout })
  local front = net:block("front", model.layers, "One attention, a norm ahead of it.")
  local h = front:input(x)
  local n = front:norm("norm1", h)
  front:output(front:add(h, front:attention("self", n, n, { name = "near" }), model.dropout))
  local block = net:block("tower", model.layers, "Two attentions.")
  local a = block:input(front.result)
  local s = block:norm("norm1", block:add(a, block:attention("self", a, a), model.dropout))
  local f = block:norm("norm2", block:add(s, block:attention("self", s, s, { name = "again", bias = true })))
  block:output(block:norm("norm3", block:add(f, block:feedforward(f, { hidden = model.feedforward, activation = "relu", bias = true }), model.dropout)))
  net:classify(net:readout(block.result, "last"))
end
