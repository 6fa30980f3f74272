return {
  task = { kind = "latin_square" }, encoding = { kind = "none" }, model = { use = "ruoss_encoder" },
  train = { batch = 8, epochs = 2 },
  eval = { by = { vectors = true }, validation = { examples = 8 } },
}
