-- A causal decoder: input, separator and target are one sequence. Its last tokens have labels: each predicts the token
-- that follows it.

local classify = require("network.models.output")
local stack = require("network.models.stack")
local tokens = require("network.models.tokens")

return function(net, model)
  local table = model.tied and net:table("token")
  local x = tokens(net, model, "embedding", net:stream("source"), table)
  local y = stack(net, model, x, { layers = model.layers, loops = model.loops })
  classify(net, model, y, "last", table)
end
