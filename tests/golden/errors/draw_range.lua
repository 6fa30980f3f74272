-- A range of positions that is too small for both training and evaluation.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "rope", positions = { kind = "randomized", max_position = 64 } },
}
