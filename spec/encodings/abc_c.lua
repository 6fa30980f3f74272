-- Configuration C of Duan & Shi 2024, table 3: B with cyclic position indexing of period 3. For a source with two
-- aligned operands, set cross.mask.stride = 2.
return {
  additive = { kind = "sinusoid" },
  positions = { kind = "cyclic", period = 3 },
  decoder = { mask = { kind = "window", left = 1, right = 0 } },
  cross = { mask = { kind = "antidiagonal", width = 1 } },
}
