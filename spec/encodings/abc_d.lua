-- Configuration D of Duan & Shi 2024, table 3: the windows of B without positions. For a source with two aligned
-- operands, set cross.mask.stride = 2.
return {
  decoder = { mask = { kind = "window", left = 1, right = 0 } },
  cross = { mask = { kind = "antidiagonal", width = 1 } },
}
