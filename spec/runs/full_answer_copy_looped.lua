-- Copying of bits by the looped transformer of Fan et al. 2024, without positions and with one pass for each bit. The
-- longest training length grows by one every 1000 steps.
return {
  task     = { kind = "full_answer", options = { operation = "copy" } },
  encoding = { kind = "none", mask = { kind = "causal" } },
  model    = { use = "fan_looped" },
  train    = { batch = 64, steps = 100000, learning_rate = 1e-4, lengths = { 1, 19, curriculum = {
    { until_step = 1000, max = 1 }, { until_step = 2000, max = 2 }, { until_step = 3000, max = 3 },
    { until_step = 4000, max = 4 }, { until_step = 5000, max = 5 }, { until_step = 6000, max = 6 },
    { until_step = 7000, max = 7 }, { until_step = 8000, max = 8 }, { until_step = 9000, max = 9 },
    { until_step = 10000, max = 10 }, { until_step = 11000, max = 11 }, { until_step = 12000, max = 12 },
    { until_step = 13000, max = 13 }, { until_step = 14000, max = 14 }, { until_step = 15000, max = 15 },
    { until_step = 16000, max = 16 }, { until_step = 17000, max = 17 }, { until_step = 18000, max = 18 } } },
    optimizer = { kind = "adamw" }, clip = { kind = "global_norm", max_norm = 1 } },
  eval     = { lengths = { 1, 40 }, examples = 1024 },
}
