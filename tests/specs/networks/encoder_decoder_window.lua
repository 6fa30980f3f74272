-- Windows in every attention, between the streams with FIRE.
local window = { kind = "window", left = 2, right = 1 }

return {
  task     = { kind = "duplicate_string" },
  encoding = { mask = window, encoder = { mask = window }, cross = { mask = window, score = { use = "fire" } } },
  model    = { kind = "encoder_decoder", encoder_layers = 1, decoder_layers = 1, dropout = 0,
    heads = 2, width = 16, feedforward = 32 },
  train    = { use = "ruoss", lengths = { 1, 18 } },
  eval     = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
