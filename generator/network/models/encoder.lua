-- A bidirectional encoder: Ruoss et al. 2023, section 3. model.readout chooses the tokens at which answers are read:
-- empty tokens that follow the input, one for each output; or the last token of the input (Ito et al. 2024); or every
-- token of the input; or the probe, the token of the input that the task asks about.

local classify = require("network.models.output")
local stack = require("network.models.stack")
local tokens = require("network.models.tokens")

return function(net, model)
  local x = tokens(net, model, "embedding", net:stream("source"))
  local y = stack(net, model, x, { layers = model.layers, loops = model.loops,
    source = "Ruoss et al. 2023, section 3" })
  classify(net, model, y, model.readout == "probe" and "probe" or "last")
end
