-- Loops over blocks with two attentions, whose facets have parameters in each layer; feed-forward blocks after them.
return function(net, model)
  local words = net:table("words")
  local x = net:embed("embedding", net:stream("source"), { table = words, scale = 4, place = net.additive })
  local tower = net:block("tower", model.layers, "Near, then far, so many times over.", { loops = model.options.loops })
  local h = tower:input(x)
  local a = tower:norm("norm1", tower:add(h, tower:attention("self", h, h), model.dropout))
  tower:output(tower:norm("norm2", tower:add(a, tower:attention("self", a, a, { name = "far" }), model.dropout)))
  local top = net:block("top", 3)
  local g = top:input(tower.result)
  top:output(top:add(g, top:feedforward(g, { hidden = model.feedforward, activation = "relu" }), model.dropout))
  net:classify(net:readout(net:norm("norm", top.result), "last"), { tied = model.kind == "decoder" and words or nil })
end
