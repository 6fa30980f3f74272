-- Configuration B of Duan & Shi 2024, table 3: A with windows of width 1. A query of the decoder sees itself and the
-- token before it; in the source it sees the digits next to its own. With two aligned operands set cross.mask.stride =
-- 2.
return {
  additive = { kind = "sinusoid" },
  decoder = { mask = { kind = "window", left = 1, right = 0 } },
  cross = { mask = { kind = "antidiagonal", width = 1 } },
}
