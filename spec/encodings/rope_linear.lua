-- Rotary encoding with positions divided by a factor: "position interpolation" (Chen et al. 2023).
--
-- "Extending Context Window of Large Language Models via Positional Interpolation", arXiv:2306.15595.
return {
  rotation = { kind = "rope", base = 10000, scaling = { kind = "linear", factor = 4 } },
}
