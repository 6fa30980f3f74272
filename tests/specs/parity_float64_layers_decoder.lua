-- A decoder whose passes of seven layers end with a norm; the layers have gates, counted positions and a rotation of
-- one of two heads by sampled positions in turn, and the last one has gates again; compared with the reference network,
-- also at other numbers of passes and token by token.
return {
  task = { kind = "reverse_string" },
  encoding = { layers = { "fox", "cope", { use = "rope", rotation = { heads = 1 } } },
    positions = { kind = "randomized", max_position = 64 } },
  model = { kind = "decoder", layers = 7, heads = 2, width = 16, feedforward = 32, dropout = 0.1,
    norm = { place = "pre" }, loops = { times = 2, norm = "inside" } },
  train = { lengths = { 1, 9 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
