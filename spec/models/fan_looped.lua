-- The looped transformer of Fan et al. 2024: pre-norm layers without dropout; every pass adds the embedding to its
-- input and ends with the final norm. The encoding's mask makes it causal. Specs set the number of layers: 1 for
-- parity, 2 for copying and sums of bits, 3 for addition; the paper's parity has 64 heads, its sums of bits have 16.
return {
  kind = "encoder",
  readout = "in_place",
  layers = 2,
  heads = 8,
  width = 256,
  feedforward = 1024,
  dropout = 0,
  norm = { place = "pre" },
  activation = "gelu_tanh",
  bias = "all",
  embedding = "linear",
  loops = { times = "length", inject = true, start = "zeros", norm = "inside" },
}
