-- A learned number per head for each of 32 buckets of distances (Raffel et al. 2020), both directions.
--
-- Of 16 buckets per direction, those below 8 hold one distance each; bucket 8 + k begins where
-- log(n / 8) / log(128 / 8) * 8 reaches k, which is n^8 >= 8^8 16^k: integers below 2^63, compared exactly. Keys to the
-- right have buckets 16 to 31. The table is shared by the layers, as in T5; its first spread is T5's, width^-1/2, at
-- width 64. T5 itself does not divide its logits by the root of the head width; here they are.
local exact, farther, ratio = 8, 8, 16 -- 128 / 8

local function power(base, exponent)
  local product = 1
  for _ = 1, exponent do
    product = product * base
  end
  return product
end

local edges = {}
for n = 1, exact do
  edges[n] = n
end
for k = 1, farther - 1 do
  local n = exact
  while power(n, farther) < power(exact, farther) * power(ratio, k) do
    n = n + 1
  end
  edges[exact + k] = n
end

return {
  score = function(x)
    local far = bucket(abs(x.distance), edges)
    return x.score + lookup(x.bias, far + select(less(0, x.distance), 16, 0))
  end,
  parameters = { bias = { per = "head", shape = 32, init = { normal = 0.125 } } },
}
