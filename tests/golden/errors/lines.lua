-- Lines that are none, stand twice or do not fit the model; and what they do not go with.
return {
  task     = { kind = "bucket_sort" },
  encoding = {
    encoder = { mask = { kind = "window", left = 2 }, lines = { { head = 0, direction = 1, line = 0, value = 1 } } },
    decoder = { lines = {
      { head = 8, direction = 1, line = 0, value = 1 },
      { head = 0, direction = 2, line = 0, value = 1 },
      { head = 0, direction = 0, line = -1, value = 1 },
      { head = 0, direction = 1, line = 0, value = 1 },
      { head = 0, direction = 1, line = 0, value = 2 },
      { head = 1, direction = 1, line = 0.5 },
      { head = 1, direction = 1, line = 0, value = 2e20, colour = 1 },
      { 1, 1, 0, 2.5 },
      7,
    } },
    cross   = { lines = { zero_corner = "some", list = 3 } },
  },
  model    = { kind = "encoder_decoder", layers = 2 },
  train    = { use = "quick" },
}
