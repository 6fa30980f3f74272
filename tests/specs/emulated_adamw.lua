-- AdamW, of which matrices alone decay: device code in the emulation against the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "none" },
  model = { layers = 1, heads = 4, width = 32, feedforward = 48, dropout = 0 },
  train = { lengths = { 1, 20 }, optimizer = { kind = "adamw", weight_decay = 0.1, decays = "matrices" },
    schedule = { kind = "cosine", warmup = 10, final = 0.1 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
