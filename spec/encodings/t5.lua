-- A learned number per head for each of 32 buckets of distances (Raffel et al. 2020).
--
-- In attention to both sides, of 16 buckets per direction those below 8 hold one distance each; bucket 8 + k begins
-- where log(n / 8) / log(128 / 8) * 8 reaches k, which is n^8 >= 8^8 16^k. Keys to the right have buckets 16 to 31. In
-- causal attention (x.causal), as in T5's decoder, all 32 are of distances to the left: those below 16 hold one each,
-- and bucket 16 + k begins where log(n / 16) / log(128 / 16) * 16 reaches k, n^16 >= 16^16 8^k. The sides to the right
-- are powers of two; all is compared as integers. The table is shared by the layers, as in T5; its initial deviation is
-- T5's, width^-1/2, at width 64. T5 does not divide its logits by the root of the head width; here they are.
local digit = 1 << 24

-- n^exponent / 2^bits, rounded down digit by digit: 0 where it is below 1.
local function quotient(n, exponent, bits)
  local digits = { 1, 0, 0, 0, 0, 0 } -- of n^exponent, lowest first
  for _ = 1, exponent do
    local carry = 0
    for i = 1, #digits do
      local value = digits[i] * n + carry
      digits[i], carry = value % digit, value // digit
    end
  end
  local whole = bits // 24 + 1
  local rest = digits[whole] // (1 << bits % 24)
  for i = whole + 1, #digits do
    rest = rest + digits[i]
  end
  return rest
end

-- The first distance of each bucket but 0: `exact` of one distance each, then as many up to 128. bits: of
-- exact^exact, and of 128 / exact.
local function edges(exact, bits, step)
  local list = {}
  for n = 1, exact do
    list[n] = n
  end
  for k = 1, exact - 1 do
    list[exact + k] = 128
    for n = 127, exact, -1 do
      list[exact + k] = min(list[exact + k], n + 128 * (1 - min(quotient(n, exact, bits + step * k), 1)))
    end
  end
  return list
end

local both, left = edges(8, 24, 4), edges(16, 64, 3)

return {
  score = function(x)
    local causal = equal(x.causal, 1)
    local far = bucket(abs(x.distance), left)
    local near = bucket(abs(x.distance), both) + select(less(0, x.distance), 16, 0)
    return x.score + lookup(x.bias, select(causal, far, near))
  end,
  parameters = { bias = { per = "head", shape = 32, init = { normal = 0.125 } } },
}
