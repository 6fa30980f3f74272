-- Attention in fragments with many heads, and RMS norms of wide rows in quads, in exact arithmetic: device code in the
-- emulation against the CPU half (tests/emulation/test_model.c).
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "alibi" },
  model = { layers = 1, heads = 20, width = 160, feedforward = 32, dropout = 0.1, norm = { kind = "rms" } },
  train = { lengths = { 1, 36 } },
  eval = { lengths = { 1, 36 } },
  precision = "float64",
  device_products = "warps",
}
