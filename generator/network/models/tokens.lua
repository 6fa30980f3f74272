-- The vectors of a stream's tokens, plus the vectors of their positions. Rows of a table are multiplied by sqrt(width)
-- (Vaswani et al. 2017), outputs of a linear map are not.
--
-- Arguments: the network and the section `model` (builder.lua); name: that of the result, a value of the stream; table:
-- the shared table of the tokens' vectors, or nil: the embedding has a table of its own.

return function(net, model, name, stream, table)
  return net:embed(name, stream, { table = table, scale = model.embedding == "table" and math.sqrt(model.width) or nil,
    place = net.input_place, dropout = net.additive_dropout })
end
