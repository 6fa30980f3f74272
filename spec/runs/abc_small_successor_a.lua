-- The successor by a small encoder-decoder in a frame of 52 places, configuration A of Duan and Shi 2024, table 3. The
-- model learns numbers below 2^20, of up to 7 digits, and fails on longer ones: a teacher for `./longhand calibrate`.
return {
  task     = { kind = "successor", options = { width = 52 } },
  encoding = { kind = "abc_a" },
  model    = { use = "small_encoder_decoder" },
  train    = { use = "duan", batch = 128, steps = 5000, learning_rate = 1e-3 },
  eval     = { by = { digits = { 1, 50 }, carry = { list = { 0, 1, 2, 3, 5, 8, 15, 30, 49 } } },
               splits = { "test", "validation" }, examples = 1000,
               during = { every = 500, splits = { "validation" }, examples = 1000 } },
}
