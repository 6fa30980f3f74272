-- Abacus embeddings: a learned vector for the place of a digit in its number (McLeish et al. 2024).
--
-- "Transformers Can Do Arithmetic with the Right Embeddings", arXiv:2405.17399. The paper's models also have
-- model.norm.embedding = true, a layer norm of the sum of a token's embedding and the vector of its place. Numbers
-- should begin with the lowest digit. Combinations with rope or fire, as in the paper, also need positions.elsewhere =
-- "index".
return {
  additive = { kind = "learned", init = "normal", init_sigma = 1.0 },
  positions = { kind = "digits", max_position = 2047, offset = 100 },
}
