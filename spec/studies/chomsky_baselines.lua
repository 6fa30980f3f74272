-- Recurrent models and transformers beyond the training lengths (Deletang et al. 2023): parity, which an LSTM solves,
-- and reversed strings, which a stack-RNN solves.
--
-- Without a scale, the recurrent models and their training are those of the released example, and the transformers have
-- the size of Ruoss et al. 2023.
local function set_recurrent(model)
  return { encoding = { kind = "none" }, model = { use = model } }
end

local function set_encoder(encoding)
  return { encoding = { kind = encoding }, model = { use = "ruoss_encoder" } }
end

local small_encoder = { model = { layers = 2, heads = 4, width = 32, feedforward = 128, dropout = 0 } }
local encoders = { "sincos", "relative" }

local function make_claim(title, task, models, lengths, bound)
  return { kind = "claim", rows = "model", where = { task = task }, only = { model = models }, at = lengths,
    bound = bound, title = title }
end

local small = {
  train = { batch = 32, shards = 2, steps = 10000, lengths = { 1, 20, per = "sequence" }, log_every = 200 },
  eval = { lengths = { list = { 10, 20, 40, 60, 80, 100, 200 } } },
}
local small_models = { model = {
  lstm = { model = { width = 64 } },
  ["stack-rnn"] = { model = { width = 128 } },
  sincos = small_encoder,
  relative = small_encoder,
} }

return {
  title = "Recurrent models and transformers beyond the training lengths",
  prefix = "chomsky",
  base = {
    train = { use = "deletang" },
    eval = { lengths = { list = { 20, 40, 60, 80, 100, 200, 500 } }, examples = 256 },
  },
  axes = {
    { name = "task", values = {
      { name = "parity", spec = { task = { kind = "parity_check" } } },
      { name = "reverse", spec = { task = { kind = "reverse_string" } } },
    } },
    { name = "model", values = {
      { name = "lstm", spec = set_recurrent("deletang_lstm") },
      { name = "stack-rnn", spec = set_recurrent("deletang_stack_rnn") },
      { name = "sincos", spec = set_encoder("sinusoid") },
      { name = "relative", spec = set_encoder("relative") },
    } },
  },
  seeds = { 0, 4 },
  learning_rates = { 3e-4, 1e-3 },
  report = {
    metric = "accuracy",
    labels = { lstm = "LSTM", ["stack-rnn"] = "stack-RNN", sincos = "transformer, sincos",
      relative = "transformer, relative" },
    make_claim("The LSTM solves parity", "parity", { "lstm" }, { 100, 200 }, { above = 90 }),
    make_claim("The stack-RNN reverses strings of 100 symbols", "reverse", { "stack-rnn" }, { 100 }, { above = 90 }),
    make_claim("Transformers are near chance, 50, in parity", "parity", encoders, { 100, 200 }, { below = 60 }),
    { kind = "numbers", rows = "model", at = { 20, 40, 60, 80, 100, 200 }, pages = "task",
      title = "Accuracy by length" },
    { kind = "curves", lines = "model", panels = "task" },
  },
  scales = {
    small = { base = small, values = small_models, learning_rates = { 1e-3 } }, -- chosen on validation in small_rates
    small_rates = { base = small, values = small_models, seeds = { 0, 0 }, learning_rates = { 3e-4, 1e-3 } },
  },
}
