-- Label-based encoding: a learned vector for each of a sequence's own ascending random labels (Li and McClelland 2022).
--
-- "Systematic Generalization and Emergent Structures in Transformers Trained on Structured Tasks", arXiv:2210.00400.
-- The paper samples the labels of a sequence once, from 50, its longest test; here they are sampled in every step, from
-- positions.max_position.
return {
  additive = { kind = "learned", init_sigma = 1.0 },
  positions = { kind = "randomized", draw = "sequence" },
}
