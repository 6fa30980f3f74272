-- Ito et al. 2024: Adam and SGD for learned tables with small initial values. The paper does not give the learning rate
-- of SGD; of three rates, the report shows the rate with the highest accuracy on training puzzles.
return {
  title = "Adam and SGD",
  base = {
    task = { kind = "latin_square" },
    encoding = { kind = "lst_learned" },
    model = { use = "lst_encoder" },
    train = { use = "lst", epochs = 4001, checkpoint = { every = 100, keep = { 0 } } },
    eval = { use = "lst" },
  },
  axes = {
    { name = "sigma", use = "ito_sigmas", only = { 0.01, 0.05, 0.1, 0.2 } },
    { name = "optimizer", values = {
      { name = "adam", spec = {} },
      { name = "sgd", spec = { train = { optimizer = { kind = "sgd" } } }, learning_rates = { 1e-3, 1e-2, 1e-1 } },
    } },
  },
  seeds = { 0, 14 },
  report = {
    metric = "accuracy", split = "validation",
    select = "train",
    { kind = "splits", rows = "sigma", splits = { "train", "test", "validation" }, pages = "optimizer",
      published = "ito_2024/optimizers", title = "Accuracy on training, held-out and validation puzzles" },
    { kind = "axis", show = "max", x = "sigma", lines = "optimizer",
      title = "Accuracy on validation puzzles by sigma" },
  },
  scales = {
    epochs400 = { base = { train = { epochs = 400 } } },
    small = {
      base = {
        task = { options = { puzzles = 400 } },
        model = { layers = 2, width = 32, feedforward = 64 },
        train = { epochs = 6, batch = 64, checkpoint = { every = 3, keep = { 0 } } },
        eval = { examples = 360, during = { every = 2, examples = 36 } },
      },
      axes = { sigma = { 0.05, 0.2 } },
      seeds = { 0, 2 },
    },
  },
}
