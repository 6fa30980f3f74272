return {
  task = { kind = "parity_check" }, encoding = { kind = "none" },
  model = { use = "ruoss_encoder" },
  train = { use = "quick", lengths = { 2, 20, step = 2 } },
  eval = { use = "quick", validation = { lengths = { 10, 21 }, examples = 8 } },
}
