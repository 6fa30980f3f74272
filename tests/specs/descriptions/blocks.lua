-- Feed-forward blocks, and with loops over them blocks of products alone and blocks of attention; and a product, an
-- activation and a dropout outside of blocks. The embedding is read twice, so that nothing works in place on it.
return function(net, model)
  local x = net:embed("embedding", net:stream("source"), { table = net:table("words"), scale = 2, place = net.additive,
    dropout = 0.2 })
  local front = net:block("front", 2, "A norm ahead of a gate.")
  local h = front:input(x)
  local n = front:norm("norm1", h, "rms")
  front:output(front:add(h, front:feedforward(n, { hidden = model.feedforward, activation = "geglu", bias = false }),
    model.dropout))
  local mixer = net:block("mixer", 2, "Products alone.", { loops = 2 })
  local m = mixer:input(net:add(front.result, x))
  mixer:output(mixer:product("out", mixer:product("middle", m, 2 * model.width), model.width))
  local block = net:block("tower", model.layers, "Attention without a norm, and a norm behind a product.",
    { loops = 2 })
  local a = block:input(mixer.result)
  local s = block:add(a, block:attention("self", a, a), model.dropout)
  block:output(block:norm("norm1", block:add(s, block:product("mixed", s, model.width, { bias = true }))))
  local head = net:activation("head", net:product("head_sum", block.result, model.width, { bias = true }), "gelu_tanh")
  net:classify(net:readout(net:add(head, block.result, model.dropout), "last"))
end
