-- Encodings to compare calibrated biases with, as Duan and Shi 2024 ran them and, "fair", with a position wherever a
-- token could use one.
--
-- Their ALiBi stands in the decoder's own attention alone, beside sinusoids. Their rotary encoding turns inputs before
-- the projections, which is not relative, and is not here: this one is Su et al.'s, for all attentions.
return {
  { name = "vanilla", spec = { encoding = { use = "sinusoid" } } },
  { name = "alibi", spec = { encoding = { use = "sinusoid", decoder = { use = "alibi" } } } },
  { name = "rope", spec = { encoding = { use = "rope" } } },
  { name = "nope", spec = { encoding = { use = "none" } } },
  { name = "alibi-fair", spec = { encoding = { use = "sinusoid", decoder = { use = "alibi" },
    cross = { use = "alibi" } } } },
  { name = "shaw-fair", spec = { encoding = { use = "shaw" } } },
  -- What a stage makes of a vanilla model; in its released log four epochs were enough.
  { name = "abc", spec = { train = { epochs = 4 } } },
}
