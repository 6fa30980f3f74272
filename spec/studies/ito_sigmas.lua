-- Ito et al. 2024: learned tables by the standard deviation of their initial values, with and without weight decay.
return {
  title = "Learned tables by their initial values",
  base = {
    task = { kind = "latin_square" },
    encoding = { kind = "lst_learned" },
    model = { use = "lst_encoder" },
    train = { use = "lst", epochs = 4001, checkpoint = { every = 100, keep = { 0, 200, 400, 1000 } } },
    eval = { use = "lst" },
  },
  axes = {
    { name = "sigma", use = "ito_sigmas", only = { 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4,
      1.5, 1.6, 1.7, 1.8, 1.9, 2 } },
    { name = "decay", use = "ito_decays" },
  },
  seeds = { 0, 14 },
  report = {
    metric = "accuracy", split = "validation", select = "validation",
    { kind = "splits", rows = "sigma", splits = { "epoch", "train", "test", "validation" }, pages = "decay",
      published = "ito_2024/sigmas", title = "Accuracy on training, held-out and validation puzzles" },
    { kind = "axis", show = "max", x = "sigma", lines = "decay", title = "Accuracy on validation puzzles by sigma" },
    { kind = "curves", lines = "sigma", pages = "decay", title = "Accuracy by vectors" },
    { kind = "progress", lines = "sigma", pages = "decay", title = "Accuracy over epochs" },
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
      axes = { sigma = { 0.2, 1, 2 }, decay = { 0 } },
      seeds = { 0, 2 },
    },
  },
}
