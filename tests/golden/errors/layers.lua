-- Encodings by layer that are more than the layers, vectors of tokens and random positions in an entry, and encodings
-- by head.
return {
  task = { kind = "reverse_string" },
  encoding = {
    layers = { "rope", { kind = "sinusoid", times = 2 }, { positions = { kind = "randomized", max_position = 2048 } } },
    heads = { "rope", "none" },
  },
  model = { layers = 3 },
}
