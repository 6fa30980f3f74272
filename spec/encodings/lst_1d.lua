-- Sines and cosines of the index, added before every block (Ito et al. 2024, released code: with dropout). The code
-- applies this dropout in evaluation, too; for this a run sets eval.dropout = true.
return {
  additive = { kind = "sinusoid", at = "block", channels = "interleaved", dropout = 0.1 },
}
