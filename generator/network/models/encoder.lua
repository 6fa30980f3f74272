-- A bidirectional encoder: Ruoss et al. 2023, section 3. The answers are read at the last tokens, which are empty.

local stack = require("network.models.stack")

return function(net, model)
  local x = net:embed("embedding", net:stream("source"), { scale = math.sqrt(model.width), place = net.input_place,
    dropout = net.additive_dropout })
  local y = stack(net, model, x, { layers = model.layers, source = "Ruoss et al. 2023, section 3" })
  net:classify(net:readout(y, "last"))
end
