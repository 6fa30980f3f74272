-- Baselines for calibrated biases. Encodings without "fair" in their names are as Duan and Shi 2024 ran them, at one
-- learning rate. The "fair" encodings have positions in every attention that can use them, and the best of several
-- learning rates; all of them try the same rates. A study with this axis also needs the axis `task`.
--
-- The paper's ALiBi acts in the decoder's self-attention alone, with sinusoids. The paper's rotary encoding rotates
-- inputs before the projections, so it is not relative. It is left out; `rope` is that of Su et al., in all attentions.
-- The paper's rotary addition needed a model of width 512; the name rope-512 states this width. The fair encodings have
-- both widths.
local rates = { 1e-5, 1e-4, 1e-3 }
local wide = { width = 512, feedforward = 2048 }
local addition, other_tasks = { task = { "addition" } }, { task = { "successor", "multiplication" } }

return {
  { name = "vanilla", spec = { encoding = { use = "sinusoid" } } },
  { name = "alibi", spec = { encoding = { use = "sinusoid", decoder = { use = "alibi_causal" } } } },
  { name = "rope", spec = { encoding = { use = "rope" } }, with = other_tasks },
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
  -- A stage trains this cell from a vanilla model; in the released log, four epochs of this stage were enough.
  { name = "abc", spec = { train = { epochs = 4 } } },
}
