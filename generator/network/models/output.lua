-- The operations from the last value of a stack to the logits and the loss. With model.output = "feedforward" (McLeish
-- et al. 2024) they are a feed-forward part without a residual connection, its norm, and two linear maps.
--
-- Arguments: the network and the section `model` (builder.lua); y: the last value; readout: the choice of labelled
-- tokens; table: the table of tokens that is the weight of the last map, or nil.

return function(net, model, y, readout, table)
  if model.output == "feedforward" then
    local branch = net:feedforward(y, { hidden = model.feedforward, activation = model.activation, name = "final",
      width_name = "FEEDFORWARD", bias = model.bias ~= "none", hidden_dropout = model.hidden_dropout,
      branch_activation = model.branch_activation ~= "none" and model.branch_activation or nil })
    y = net:product("final_map", net:norm("final_norm", branch, model.norm.kind), model.width,
      { bias = model.output_bias })
  end
  net:classify(net:readout(y, readout), { tied = table, bias = model.output_bias })
end
