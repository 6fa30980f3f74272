-- Rotary encoding that slows down only pairs of channels with few rotations within the training positions (YaRN).
--
-- Logits are also scaled up. Source: Peng et al. 2024, "YaRN", arXiv:2309.00071, sections 3.2 and 3.4. How much a pair
-- slows down depends on its number of rotations, as in the paper; released code uses the pair's index instead. The
-- betas are the paper's for LLaMA, which has thousands of positions. With fewer than 201 positions no pair makes 32
-- rotations, so all pairs slow down.
return {
  rotation = { kind = "rope", base = 10000, scaling = { kind = "yarn", factor = 4, beta_slow = 1, beta_fast = 32 } },
}
