-- Sines and cosines of column and row, added before every block (Ito et al. 2024, as the paper describes it).
return {
  additive = { kind = "sinusoid", at = "block", channels = "interleaved", dropout = 0 },
  positions = { kind = "grid" },
}
