-- The evaluation of Ito et al. 2024: all puzzles for training, held out and for validation, by their number of vectors
-- and one by one; during training, in every tenth epoch of a training that counts epochs.
return {
  by = { vectors = true, puzzle = true },
  splits = { "train", "test", "validation" },
  order = "file",
  examples = 2700,
  during = { every = 10, by = { vectors = true }, splits = { "test", "validation" }, examples = 900 },
}
