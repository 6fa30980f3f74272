-- Encodings to compare calibrated biases with: as Duan and Shi 2024 ran them, at one rate, and, "fair", with a position
-- wherever a token could use one and the same learning rates to choose from. For a study with an axis `task`.
--
-- Their ALiBi stands in the decoder's own attention alone, beside sinusoids. Their rotary encoding turns inputs before
-- the projections, which is not relative, and is not here: this one is Su et al.'s, for all attentions. In addition
-- they needed a width of 512 for it, which its name says; the fair forms have both.
local rates = { 1e-5, 1e-4, 1e-3 }
local wide = { width = 512, feedforward = 2048 }
local addition, others = { task = { "addition" } }, { task = { "successor", "multiplication" } }

return {
  { name = "vanilla", spec = { encoding = { use = "sinusoid" } } },
  { name = "alibi", spec = { encoding = { use = "sinusoid", decoder = { use = "alibi_causal" } } } },
  { name = "rope", spec = { encoding = { use = "rope" } }, with = others },
  { name = "rope-512", spec = { encoding = { use = "rope" }, model = wide }, with = addition },
  { name = "nope", spec = { encoding = { use = "none" } } },
  { name = "vanilla-fair", spec = { encoding = { use = "sinusoid" } }, learning_rates = rates },
  { name = "alibi-fair", spec = { encoding = { use = "sinusoid", decoder = { use = "alibi_causal" },
    cross = { use = "alibi" } } }, learning_rates = rates },
  { name = "rope-fair", spec = { encoding = { use = "rope" } }, learning_rates = rates },
  { name = "rope-512-fair", spec = { encoding = { use = "rope" }, model = wide }, learning_rates = rates,
    with = addition },
  { name = "shaw-fair", spec = { encoding = { use = "shaw", cross = { use = "shaw" } } }, learning_rates = rates },
  { name = "nope-fair", spec = { encoding = { use = "none" } }, learning_rates = rates },
  -- A stage trains this cell from a vanilla model; in the released log of that stage four epochs were enough.
  { name = "abc", spec = { train = { epochs = 4 } } },
}
