-- Blocks of self-attention and a feed-forward network around a residual stream, as encoders and decoders have them.
--
--   place = "post"   y = norm(x + f(x)): Vaswani et al. 2017
--   place = "pre"    y = x + f(norm(x)), and one norm behind the last block: Xiong et al. 2020

local SOURCES = { post = "Vaswani et al. 2017", pre = "Xiong et al. 2020" }

-- What generated code says of a block; `source`: of the kind with its norms behind the sums.
local function about(model, source)
  local place = model.norm.place
  local words = { place == "post" and source or nil }
  words[#words + 1] = SOURCES[place]
  words[#words + 1] = model.norm.kind == "rms" and "Zhang and Sennrich 2019" or nil
  words[#words + 1] = model.activation:find("glu$") and "Shazeer 2020" or nil
  return ("One %s-norm %s block: %s."):format(place, model.kind, table.concat(words, "; "))
end

return function(net, model, x, source)
  local b = net:block("layer", model.layers, about(model, source))
  local rate, kind, pre = model.dropout, model.norm.kind, model.norm.place == "pre"
  local attends = { bias = model.bias == "all" }
  local forward = { hidden = model.feedforward, activation = model.activation, bias = model.bias ~= "none" }
  local h = b:input(x)
  if pre then
    local n = b:norm("norm1", h, kind)
    local s = b:add(h, b:attention("self", n, n, attends), rate)
    b:output(b:add(s, b:feedforward(b:norm("norm2", s, kind), forward), rate))
    return net:norm("norm", b.result, kind)
  end
  local a = b:norm("norm1", b:add(h, b:attention("self", h, h, attends), rate), kind)
  b:output(b:norm("norm2", b:add(a, b:feedforward(a, forward), rate), kind))
  return b.result
end
