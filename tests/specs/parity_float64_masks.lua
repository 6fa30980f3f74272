-- Periodic positions; in every family another mask: near an anti-diagonal, on lines that are cut with the causal mask,
-- and on lines that leave a head and, where the target is longer than the source, queries without an open key.
return {
  task     = { kind = "bucket_sort" },
  encoding = { kind = "rope", additive = { kind = "sinusoid" }, positions = { kind = "cyclic", period = 3 },
    encoder = { mask = { kind = "antidiagonal", width = 2, left_only = true } },
    decoder = { lines = {
      { head = 0, direction = 1, line = 0, value = 1.5 }, { head = 0, direction = 1, line = -1, value = 0.25 },
      { head = 0, direction = 0, line = 0, value = -0.5 }, { head = 1, direction = -1, line = 3, value = 2 } } },
    cross = { normaliser = { temperature = 2 }, lines = {
      { head = 1, direction = -1, line = 0, value = 2 }, { head = 1, direction = -1, line = 4, value = 0.5 },
      { head = 1, direction = 1, line = 1, value = 0.75 } } } },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 2, heads = 2, width = 16,
    feedforward = 32, dropout = 0.1, attention_dropout = 0.2 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
