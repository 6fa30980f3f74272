-- Tables by query and by pair, and a score that reads the logit twice: device code in the emulation compared with the
-- CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { score = { { use = "fire" }, { score = function(x) return exp(x.log_cap) * tanh(x.score / exp(x.log_cap)) end,
    parameters = { log_cap = { init = 0.5 } } } } },
  model = { layers = 2, heads = 4, width = 32, feedforward = 48, dropout = 0.1 },
  train = { lengths = { 1, 20 } },
  eval = { lengths = { 1, 20 } },
  precision = "float64",
}
