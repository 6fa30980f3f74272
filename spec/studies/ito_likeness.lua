-- Ito et al. 2024: learned tables by their initial values, for analyses that compare the tables with the 2-D sinusoid.
-- The runs of learned tables are those runs of ito_sigmas that have no weight decay.
local sigmas = { { name = "2d-fixed", spec = { encoding = { kind = "lst_2d" }, eval = { dropout = true } } } }
for i = 1, 20 do
  sigmas[i + 1] = { name = i / 10, spec = { encoding = { kind = "lst_learned", additive = { init_sigma = i / 10 } } } }
end

return {
  title = "Learned tables and the 2-D sinusoid",
  base = {
    task = { kind = "latin_square" },
    model = { use = "lst_encoder" },
    train = { use = "lst", epochs = 4001, checkpoint = { every = 100, keep = { 0, 200, 400, 1000 } } },
    eval = { use = "lst" },
  },
  axes = {
    { name = "sigma", values = sigmas },
    { name = "decay", use = "ito_decays", only = { 0 } },
  },
  seeds = { 0, 14 },
  report = {
    metric = "accuracy", split = "validation", select = "validation",
    { kind = "splits", rows = "sigma", splits = { "epoch", "train", "test", "validation" },
      title = "Accuracy on training, held-out and validation puzzles" },
    { kind = "curves", lines = "sigma", title = "Accuracy by vectors" },
    { kind = "progress", lines = "sigma", title = "Accuracy over epochs" },
  },
  scales = {
    epochs400 = { base = { train = { epochs = 400, checkpoint = { keep = { 0, 200 } } } } },
    small = {
      base = {
        task = { options = { puzzles = 400 } },
        model = { layers = 2, width = 32, feedforward = 64 },
        train = { epochs = 6, batch = 64, learning_rate = 2e-3, checkpoint = { every = 3, keep = { 0 } } },
        eval = { examples = 360, during = { every = 2, examples = 36 } },
      },
      axes = { sigma = { "2d-fixed", 0.2, 1, 2 } },
      seeds = { 0, 2 },
    },
  },
}
