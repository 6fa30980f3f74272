-- A block in which attention and the feed-forward network read the same input, as in GPT-J (Wang and Komatsuzaki 2021),
-- and a gate scales their sum:
--
--   n = norm(x),  s = attention(n) + feedforward(n),  y = x + f(s W) * (s V)
--
-- Option gate: the function f, "silu" or "gelu".

local function add_branches(block, n, model)
  local attended = block:attention("self", n, n)
  local transformed = block:feedforward(n, { hidden = model.feedforward, activation = "gelu", name = "think" })
  return block:add(attended, transformed)
end

return function(net, model)
  local x = net:embed("embedding", net:stream("source"), { scale = sqrt(model.width), place = net.additive,
    dropout = net.additive_dropout })

  local block = net:block("layer", model.layers, "Parallel branches and a gate.")
  local h = block:input(x)
  local s = add_branches(block, block:norm("norm1", h, "rms"), model)
  local halves = block:product("gate_up", s, model.width, { parts = { "gate", "up" } })
  local gated = block:gate("gated", halves, model.options.gate or "silu")
  block:output(block:add(h, gated, model.dropout))

  net:classify(net:readout(net:norm("norm", block.result, "rms"), "last"))
end
