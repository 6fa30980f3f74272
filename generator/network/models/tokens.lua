-- The vectors of a stream's tokens, plus the vectors of their positions. Rows of a table are multiplied by sqrt(width)
-- (Vaswani et al. 2017); outputs of a linear map are not multiplied. With model.norm.embedding a norm follows the sum.
--
-- Arguments: the network and the section `model` (builder.lua); name: the name of the result; stream: the stream whose
-- tokens are embedded; table: a shared table of the tokens' vectors, or nil for a table of this embedding alone.

return function(net, model, name, stream, table)
  local sum = net:embed(name, stream, { table = table, scale = model.embedding == "table" and math.sqrt(model.width)
    or nil, place = net.input_additive, dropout = net.additive_dropout })
  return model.norm.embedding and net:norm(name .. "_norm", sum, model.norm.kind) or sum
end
