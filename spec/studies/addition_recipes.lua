-- Sums of numbers with more digits than in training, by the recipes of two papers: Abacus embeddings (McLeish et al.
-- 2024) and position coupling (Cho et al. 2024), each with its own format, model and training.
--
-- The recipes differ in more than the encoding, so their scores do not compare encodings; the scores of
-- addition_protocol do. docs/recipes.md lists differences from the papers. The small scale has small models and few
-- digits.
local mcleish = {
  task = { options = { order = "reversed", padding = "none", longest = 20, pairs = 2^24 } },
  encoding = { kind = "abacus" },
  model = { kind = "decoder", layers = 16, heads = 16, width = 1024, feedforward = 1024, activation = "geglu",
    bias = "none", dropout = 0, norm = { place = "post", embedding = true }, output = "feedforward",
    output_bias = false },
  train = { batch = 8192, steps = 20000, clip = { kind = "global_norm", max_norm = 0.5 },
    optimizer = { kind = "adamw", beta1 = 0.9, beta2 = 0.98, weight_decay = 0.01, decays = "matrices" } },
}

local cho = {
  task = { options = { order = "reversed_sum", padding = "longer", longest = 30, pairs = 2^17 } },
  encoding = { kind = "coupling", positions = { max_position = 102 } },
  model = { kind = "decoder", layers = 1, heads = 4, width = 1024, feedforward = 2048, activation = "geglu",
    bias = "none", dropout = 0, norm = { kind = "rms", place = "pre" } },
  train = { batch = 1000, steps = 50000, schedule = { kind = "cosine", warmup = 500, final = 0.1 },
    optimizer = { kind = "adam", beta1 = 0.9, beta2 = 0.95 } },
}

-- Data and training of the small scale; training samples positions of sums of up to 10 digits.
local options = { longest = 5, pairs = 2^18, tests = 20 }

return {
  title = "Addition beyond the training lengths: recipes of papers",
  prefix = "recipe",
  base = {
    task = { kind = "free_addition" },
    eval = { by = { digits = { 1, 100 } }, examples = 100 },
  },
  axes = {
    { name = "recipe", values = { { name = "mcleish-2024", spec = mcleish }, { name = "cho-2024", spec = cho } } },
  },
  seeds = { 0, 4 },
  learning_rates = { 1e-4 },
  report = {
    metric = "exact_match",
    labels = { ["mcleish-2024"] = "McLeish et al. 2024 (Abacus)", ["cho-2024"] = "Cho et al. 2024 (coupling)" },
    { kind = "claim", rows = "recipe", at = { 6, 7 }, bound = { above = 50 },
      title = "Both recipes add numbers of 6 and 7 digits" },
    { kind = "numbers", rows = "recipe", at = { 3, 5, 6, 7, 8, 10 }, title = "Exact match by digits" },
    { kind = "curves", lines = "recipe" },
  },
  scales = {
    small = {
      base = { eval = { by = { digits = { 1, 10 } }, examples = 200 } },
      values = { recipe = {
        ["mcleish-2024"] = {
          task = { options = options },
          encoding = { positions = { offset = 6 } },
          model = { layers = 2, heads = 4, width = 64, feedforward = 64 },
          train = { batch = 64, steps = 4000 },
        },
        ["cho-2024"] = {
          task = { options = options },
          encoding = { positions = { max_position = 12 } },
          model = { width = 64, feedforward = 128 },
          train = { batch = 64, steps = 4000, schedule = { warmup = 100 } },
        },
      } },
      learning_rates = { 1e-3, 2e-3 },
    },
  },
}
