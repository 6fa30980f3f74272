-- A wide model with as many passes as the task length, which start from zeros, add the embedding, end with a norm (Fan
-- et al. 2024) and have a loss each; layers learn vectors of distances and of positions. Device code in the emulation
-- is compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "full_answer", options = { operation = "copy" } },
  encoding = { kind = "shaw", mask = { kind = "causal" }, additive = { kind = "learned", at = "block", rows = 64 } },
  model = { use = "fan_looped", heads = 4, feedforward = 64, dropout = 0.1, loops = { loss = "every" } },
  train = { lengths = { 1, 14 } },
  eval = { lengths = { 1, 14 } },
  precision = "float64",
}
