-- Sequences that are too long for the positions because of computation tokens.
return {
  task = { kind = "reverse_string", computation = 1 },
  encoding = { kind = "rope", positions = { kind = "randomized", max_position = 1499 } },
}
