-- A decoder whose passes of six layers end with a norm; its layers have gates, counted positions and a rotation in turn;
-- compared with the reference network, also at other numbers of passes and token by token.
return {
  task = { kind = "reverse_string" },
  encoding = { layers = { "fox", "cope", "rope" } },
  model = { kind = "decoder", layers = 6, heads = 2, width = 16, feedforward = 32, dropout = 0.1,
    norm = { place = "pre" }, loops = { times = 2, norm = "inside" } },
  train = { lengths = { 1, 9 } },
  eval = { lengths = { 1, 9 } },
  precision = "float64",
}
