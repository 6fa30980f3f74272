-- Label-based encoding: a learned vector for each of a sequence's ascending random labels (Li and McClelland 2022).
--
-- "Systematic Generalization and Emergent Structures in Transformers Trained on Structured Tasks", arXiv:2210.00400.
-- The paper samples the labels of a sequence once, out of 50, the length of its longest test sequences. Here each step
-- samples labels anew, out of positions.max_position.
return {
  additive = { kind = "learned", init_sigma = 1.0 },
  positions = { kind = "randomized", draw = "sequence" },
}
