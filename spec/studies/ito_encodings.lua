-- Ito et al. 2024: accuracy of each encoding on the Latin Square Task, with and without weight decay.
return {
  title = "Encodings on the Latin Square Task",
  base = {
    task = { kind = "latin_square" },
    model = { use = "lst_encoder" },
    train = { use = "lst", epochs = 4001, checkpoint = { every = 100, keep = { 0, 200, 400, 1000 } } },
    eval = { use = "lst" },
  },
  axes = {
    { name = "encoding", use = "ito_encodings" },
    { name = "decay", use = "ito_decays" },
  },
  seeds = { 0, 14 },
  report = {
    metric = "accuracy", split = "validation", select = "validation",
    { kind = "splits", rows = "encoding", splits = { "epoch", "train", "test", "validation" }, pages = "decay",
      published = "ito_2024/encodings", title = "Accuracy on training, held-out and validation puzzles" },
    { kind = "curves", lines = "encoding", pages = "decay", title = "Accuracy by vectors" },
    { kind = "progress", lines = "encoding", pages = "decay", title = "Accuracy over epochs" },
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
      axes = { decay = { 0 } },
      seeds = { 0, 2 },
    },
  },
}
