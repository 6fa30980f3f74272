-- The evaluation of Ito et al. 2024: all puzzles of training, held out and for validation, by their number of vectors
-- and one by one; in between, every tenth epoch of training that counts epochs.
return {
  by = { vectors = true, puzzle = true },
  splits = { "train", "test", "validation" },
  order = "file",
  examples = 2700,
  during = { every = 10, by = { vectors = true }, splits = { "test", "validation" }, examples = 900 },
}
