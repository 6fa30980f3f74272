-- Names that resemble no preset: given fields are checked, whatever kinds the presets would have.
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "mine", rotation = { base = -5 }, cross = { mask = { window = -8 } } },
  model = { use = "biggest", layers = 1.5, decoder_layers = 65 },
  train = { use = "quick", lengths = { 1, 6 } },
}
