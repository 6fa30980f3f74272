-- Sums of small numbers from files of examples, with sinusoidal positions in a small encoder.
return {
  task = {
    name = "addition",
    data = "train.jsonl",
    eval = "test.jsonl",
    input_symbols = { "0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "+" },
    output_symbols = 10,
    longest = 16,
  },
  encoding = { kind = "sinusoid" },
  model = { use = "small_encoder" },
  train = { batch = 32, epochs = 20, learning_rate = 1e-3, log_every = 20 },
}
