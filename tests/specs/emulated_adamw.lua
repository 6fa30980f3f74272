-- AdamW that decays matrices alone, and the encoder of the Latin Square paper: one head over the whole width, spread
-- unevenly over threads, a linear embedding, an activation after each feed-forward part, the answer at the last token
-- of the input: device code in the emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "even_pairs" },
  encoding = { kind = "none" },
  model = { use = "lst_encoder", layers = 1, feedforward = 48 },
  train = { lengths = { 1, 20 }, optimizer = { kind = "adamw", weight_decay = 0.1, decays = "matrices" },
    schedule = { kind = "cosine", warmup = 10, final = 0.1 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
