-- A learned number per head for each of 32 buckets of distances (Raffel et al. 2020).
--
-- Attention to both sides has 16 buckets per direction. Buckets below 8 hold one distance each; bucket 8 + k begins
-- where log(n / 8) / log(128 / 8) * 8 reaches k, that is n^8 >= 8^8 16^k. Keys to the right have buckets 16 to 31.
-- Causal attention (x.causal), as in T5's decoder, uses all 32 buckets for distances to the left: buckets below 16 hold
-- one distance each, and bucket 16 + k begins where log(n / 16) / log(128 / 16) * 16 reaches k, n^16 >= 16^16 8^k. The
-- right sides of these inequalities are powers of two, so the bounds are computed exactly with integers. Layers share
-- the table, as in T5. The initial standard deviation is that of T5, width^-1/2, for width 64. T5 does not divide its
-- logits by the root of the head width; Longhand does.
local digit_base = 1 << 24 -- the number of values of a digit in divide_power

-- An approximation of n^exponent / 2^bits, rounded down digit by digit; it is 0 if and only if the quotient is below 1.
local function divide_power(n, exponent, bits)
  local digits = { 1, 0, 0, 0, 0, 0 } -- digits of n^exponent, lowest first
  for _ = 1, exponent do
    local carry = 0
    for i = 1, #digits do
      local value = digits[i] * n + carry
      digits[i], carry = value % digit_base, value // digit_base
    end
  end
  local digit_index = bits // 24 + 1
  local quotient = digits[digit_index] // (1 << bits % 24)
  for i = digit_index + 1, #digits do
    quotient = quotient + digits[i]
  end
  return quotient
end

-- The first distance of each bucket except bucket 0. The first `exact` buckets have one distance each. The next `exact`
-- buckets share the distances up to 128; the last of them also has all greater distances. bits: log2 of exact^exact;
-- step: log2 of 128 / exact.
local function find_edges(exact, bits, step)
  local edges = {}
  for n = 1, exact do
    edges[n] = n
  end
  for k = 1, exact - 1 do
    edges[exact + k] = 128
    for n = 127, exact, -1 do
      edges[exact + k] = min(edges[exact + k], n + 128 * (1 - min(divide_power(n, exact, bits + step * k), 1)))
    end
  end
  return edges
end

local two_sided_edges, one_sided_edges = find_edges(8, 24, 4), find_edges(16, 64, 3)

return {
  score = function(x)
    local causal = equal(x.causal, 1)
    local one_sided = bucket(abs(x.distance), one_sided_edges)
    local two_sided = bucket(abs(x.distance), two_sided_edges) + select(less(0, x.distance), 16, 0)
    return x.score + lookup(x.bias, select(causal, one_sided, two_sided))
  end,
  parameters = { bias = { per = "head", shape = 32, init = { normal = 0.125 } } },
}
