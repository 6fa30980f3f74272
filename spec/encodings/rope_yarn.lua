-- Rotary encoding that slows down only pairs with few rotations within the training positions (YaRN).
--
-- Logits are scaled up as well. Peng et al. 2024, "YaRN", arXiv:2309.00071, sections 3.2 and 3.4. A pair's share of the
-- slowdown depends on its number of rotations, as in the paper; released code uses the pair's index instead. The betas
-- are those for LLaMA's thousands of positions: below 201 positions no pair makes 32 rotations, and all slow down.
return {
  rotation = { kind = "rope", base = 10000, scaling = { kind = "yarn", factor = 4, beta_slow = 1, beta_fast = 32 } },
}
