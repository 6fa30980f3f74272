-- ALiBi together with sinusoids: the paper's own in the decoder, to both sides between the streams.
-- The model of tests/reference/abc_alibi.safetensors.
return {
  task     = { kind = "parity", options = { width = 8, numbers = 64 } },
  encoding = { use = "sinusoid", additive = { channels = "interleaved" },
    decoder = { use = "alibi_causal" }, cross = { use = "alibi" } },
  model    = { use = "duan_encoder_decoder", encoder_layers = 0, decoder_layers = 1, heads = 4, width = 16,
    feedforward = 16, dropout = 0 },
  train    = { use = "duan", batch = 16, epochs = 1 },
  eval     = { splits = { "test" }, by = { digits = { 1, 3 } } },
  precision = "float64",
}
