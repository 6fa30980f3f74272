-- Axes, sets and options that the task does not have.
return {
  task = { kind = "latin_square", options = { puzzles = 20, strict = "on" }, seed = 0.5 },
  eval = { by = { vector = true, puzzle = { 1, 2000 }, vectors = { list = { 0, 3 } } },
    during = { every = 5, splits = { "train", "held_out" } } },
}
