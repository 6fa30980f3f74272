-- Encodings by layer whose numbers do not fit, vectors of tokens in an entry, random positions, and encodings by head.
return {
  task = { kind = "reverse_string" },
  encoding = {
    layers = { "rope", { kind = "sinusoid", times = 2 } },
    heads = { "rope", "none" },
    positions = { kind = "randomized", max_position = 2048 },
  },
  model = { layers = 4 },
}
