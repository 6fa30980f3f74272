-- Rotary encoding in which only pairs that turn seldom within the positions of training slow down (YaRN).
--
-- Logits grow, too. Peng et al. 2024, "YaRN", arXiv:2309.00071, sections 3.2 and 3.4. The mixture between slow and fast
-- pairs goes by turns, as in the paper; released code goes by the pair's index instead. The betas are those for LLaMA's
-- thousands of positions: below 201 positions no pair makes 32 turns, and all slow down.
return {
  rotation = { kind = "rope", base = 10000, scaling = { kind = "yarn", factor = 4, beta_slow = 1, beta_fast = 32 } },
}
