-- Sines and cosines of the index, added before every block (Ito et al. 2024, released code: with dropout). In the code
-- the dropout is on in evaluation as well: eval.dropout = true in the run.
return {
  additive = { kind = "sinusoid", at = "block", channels = "interleaved", dropout = 0.1 },
}
