-- Settings that cannot be used with lines and anti-diagonals.
return {
  task     = { kind = "bucket_sort" },
  encoding = {
    encoder = { normaliser = { kind = "geometric" }, lines = { { head = 0, direction = 1, line = 0, value = 1 } } },
    decoder = { mask = { kind = "antidiagonal", width = 1 } },
    cross   = { mask = { kind = "window", left = 2 }, lines = { { head = 0, direction = 1, line = 0, value = 1 } } },
  },
  model    = { kind = "encoder_decoder" },
  train    = { use = "quick" },
}
