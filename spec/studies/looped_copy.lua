-- Copies by looped transformers (Fan et al. 2024): strings of up to 18 bits, ten more than in training, which need more
-- passes than training had.
--
-- With the paper's causal attention a small model also learns other ways to copy. If a token sees only itself and the
-- token before it, a bit moves one token per layer, and its place in the answer is as many tokens away as the string
-- has bits.
local window = { kind = "window", left = 1, right = 0 }

-- The longest training length, at first 1, grows to 8 by 1 every `steps` steps.
local function make_lengths(steps)
  local stages = {}
  for n = 1, 7 do
    stages[n] = { until_step = n * steps, max = n }
  end
  return { 1, 8, curriculum = stages }
end

return {
  title = "Copies with more passes than in training",
  prefix = "looped_copy",
  base = {
    task = { kind = "full_answer", options = { operation = "copy" } },
    model = { use = "fan_looped" },
    train = { batch = 64, steps = 20000, learning_rate = 1e-4, lengths = make_lengths(1000),
      optimizer = { kind = "adamw" } },
    eval = { lengths = { list = { 4, 8, 10, 12, 14, 16, 18 } }, by = { passes = { 1, 28 } }, examples = 128 },
  },
  axes = {
    { name = "attention", values = {
      { name = "causal", spec = { encoding = { kind = "none", mask = { kind = "causal" } } } },
      { name = "window", spec = { encoding = { kind = "none", mask = window } } },
    } },
  },
  seeds = { 0, 4 },
  learning_rates = { 1e-4, 3e-4 },
  report = {
    metric = "exact_match",
    { kind = "claim", rows = "attention", only = { attention = { "window" } }, at = { 18 }, bound = { above = 90 },
      title = "Copies of 18 bits after 18 passes, trained on at most 8" },
    { kind = "claim", rows = "attention", only = { attention = { "window" } }, at = { 18 }, passes = 8,
      bound = { below = 10 }, title = "No copies of 18 bits after 8 passes, the most in training" },
    { kind = "numbers", rows = "attention", at = { 4, 8, 10, 12, 14, 16, 18 }, title = "Exact match by length" },
    { kind = "curves", lines = "attention" },
  },
  scales = {
    small = {
      base = {
        model = { heads = 4, width = 32, feedforward = 128 },
        train = { batch = 32, steps = 3000, lengths = make_lengths(150) },
      },
      learning_rates = { 5e-4, 1e-3 },
    },
  },
}
