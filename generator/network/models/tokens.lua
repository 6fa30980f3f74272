-- The vectors of a stream's tokens, with those of their positions: times sqrt(width) where they are rows of a table
-- (Vaswani et al. 2017), as they are where they are a linear map's.
--
-- table: of the tokens' vectors, where it is shared; else the embedding has its own.

return function(net, model, name, stream, table)
  return net:embed(name, stream, { table = table, scale = model.embedding == "table" and math.sqrt(model.width) or nil,
    place = net.input_place, dropout = net.additive_dropout })
end
