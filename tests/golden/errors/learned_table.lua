-- A length past a learned table.
return {
  eval = { lengths = { list = { 40, 80, 400 } } },
  encoding = { additive = { kind = "learned", rows = 256 } },
  task = { kind = "parity_check" },
}
