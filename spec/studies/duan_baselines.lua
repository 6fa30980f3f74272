-- Duan and Shi 2024: vanilla models and other encodings, as the paper ran them and with positions everywhere.
return {
  title = "Encodings without calibration",
  base = {
    model = { use = "duan_encoder_decoder", encoder_layers = 0 },
    train = { use = "duan", epochs = 256 },
    eval = { use = "duan", splits = { "test", "validation" } },
  },
  axes = {
    { name = "task", use = "duan_tasks", only = { "successor", "addition", "multiplication" } },
    { name = "model", use = "duan_baselines" },
  },
  seeds = { 0, 2 },
  learning_rates = { 1e-5, 1e-4 },
}
