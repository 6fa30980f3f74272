-- A user's network that attends several times, each with tables and vectors of distances of its own: device code in the
-- emulation compared with the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "relative", score = { use = "alibi_learned" },
    positions = { kind = "randomized", max_position = 128, sides = "independent" } },
  model = { source = "../descriptions/attends.lua",
    layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
