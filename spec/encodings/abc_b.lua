-- Configuration B of Duan & Shi 2024, table 3: A with windows of width 1. In self-attention a query of the decoder sees
-- its own token and the token before; in cross-attention it sees the digit at its own place and the two next to it.
-- For a source with two aligned operands, set cross.mask.stride = 2.
return {
  additive = { kind = "sinusoid" },
  decoder = { mask = { kind = "window", left = 1, right = 0 } },
  cross = { mask = { kind = "antidiagonal", width = 1 } },
}
