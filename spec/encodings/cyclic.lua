-- A learned number per head for each distance modulo a period: for periodic patterns.
--
-- This is cyclic position indexing as a score; Duan & Shi 2024 instead take positions modulo 3. For another period,
-- copy this file and change the number `period`.
local period = 3

return {
  score = function(x)
    return x.score + lookup(x.bias, mod(x.distance, period))
  end,
  parameters = { bias = { per = "head", shape = period, init = 0 } },
}
