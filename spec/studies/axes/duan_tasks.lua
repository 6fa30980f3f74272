-- The tasks of Duan and Shi 2024, in the frames of their code.
return {
  { name = "successor", spec = { task = { kind = "successor" } } },
  { name = "addition", spec = { task = { kind = "addition" } } },
  { name = "multiplication", spec = { task = { kind = "multiplication" } } },
  { name = "parity", spec = { task = { kind = "parity" } } },
}
