-- A causal decoder: input, separator and target are one sequence, and each of its last tokens is asked for the next.

local stack = require("network.models.stack")

return function(net, model)
  local table = model.tied and net:table("token")
  local x = net:embed("embedding", net:stream("source"), { table = table, scale = math.sqrt(model.width),
    place = net.input_place, dropout = net.additive_dropout })
  local y = stack(net, model, x, { layers = model.layers })
  net:classify(net:readout(y, "last"), { tied = table })
end
