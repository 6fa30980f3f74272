-- Three layers with rotary encoding whose queries see a window, then one layer without positions whose queries see all
-- keys, and so on (Yang et al. 2025, RNoPE-SWA; Cohere 2025, Command A). The number of layers must be a multiple of 4.
--
-- The window of Command A has 4096 keys; here it has 8 on each side, and in a decoder 8 before the query.
return {
  layers = {
    { use = "rope", mask = { kind = "window", left = 8, right = 8 }, times = 3 },
    "none",
  },
}
