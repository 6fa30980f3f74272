-- The model of tests/reference/lst_probe.safetensors (tests/unit/test_parity.c): the encoder of Ito et al. 2024, read
-- at the cell that is asked for. Noise on a linear embedding is added here; the stored vectors have none.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "none" },
  model    = { use = "lst_encoder", layers = 2, heads = 2, width = 16, feedforward = 32, readout = "probe" },
  train    = { use = "lst" },
  eval     = { by = { noise = { list = { 0, 0.5 } } } },
}
