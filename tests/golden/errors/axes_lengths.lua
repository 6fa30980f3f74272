-- Lengths and a table that do not go with what the task makes; axes of a file that names none.
return {
  task = { kind = "latin_square" },
  encoding = { kind = "learned", additive = { rows = 16 } },
  train = { lengths = { 1, 40 } },
  eval = { lengths = { 1, 50 } },
}
