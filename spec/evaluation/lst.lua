-- The evaluation of Ito et al. 2024: all puzzles of the training, test and validation sets, by number of vectors and by
-- puzzle. Evaluations during training follow every tenth epoch, as training/lst.lua has train.cadence = "epochs".
return {
  by = { vectors = true, puzzle = true },
  splits = { "train", "test", "validation" },
  order = "file",
  examples = 2700,
  during = { every = 10, by = { vectors = true }, splits = { "test", "validation" }, examples = 900 },
}
