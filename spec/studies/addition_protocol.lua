-- Sums of numbers with more digits than in training: every encoding with every format of the numbers, with one model
-- and one length of training.
--
-- Formats: the order of the digits, and whether zeros pad the shorter number and the sum. `reversed` numbers begin with
-- the lowest digit. Abacus embeddings (McLeish et al. 2024) need them; position coupling (Cho et al. 2024) does not.
local function set_format(order, padding)
  return { task = { options = { order = order, padding = padding } } }
end

-- Training adds offsets to positions, so that it trains the vectors of all positions of the tested sums.
local coupling = { use = "coupling", positions = { max_position = 13 } }
local abacus = { use = "abacus", positions = { offset = 6 } }

-- A claim about sums in the format `reversed-padded`.
local function make_claim(title, encodings, digit_counts, bound)
  return { kind = "claim", rows = "encoding", where = { format = "reversed-padded" }, only = { encoding = encodings },
    at = digit_counts, bound = bound, title = title }
end

local small = {
  model = { layers = 2, width = 64, feedforward = 256 },
  train = { batch = 64, steps = 4000 },
}

return {
  title = "Addition beyond the training lengths: encodings and formats",
  prefix = "addition",
  base = {
    task = { kind = "free_addition", options = { longest = 5, pairs = 2^18, tests = 20 } },
    model = { kind = "decoder", layers = 4, heads = 4, width = 128, feedforward = 512, dropout = 0,
      norm = { place = "pre" } },
    train = { batch = 128, steps = 20000, schedule = { kind = "cosine", warmup = 100 } },
    eval = { by = { digits = { 1, 10 } }, examples = 200 },
  },
  axes = {
    { name = "encoding", values = {
      { name = "none", spec = { encoding = { kind = "none" } } },
      { name = "rope", spec = { encoding = { kind = "rope" } } },
      { name = "alibi", spec = { encoding = { kind = "alibi_causal" } } },
      { name = "fire", spec = { encoding = { kind = "fire_causal" } } },
      { name = "abacus", spec = { encoding = abacus } },
      { name = "coupling", spec = { encoding = coupling },
        with = { format = { "plain-padded", "reversed", "reversed-padded" } } },
    } },
    { name = "format", values = {
      { name = "plain", spec = set_format("plain", "none") },
      { name = "plain-padded", spec = set_format("plain", "longer") },
      { name = "reversed", spec = set_format("reversed", "none") },
      { name = "reversed-padded", spec = set_format("reversed", "longer") },
    } },
  },
  seeds = { 0, 4 },
  learning_rates = { 5e-4, 2e-3 },
  report = {
    metric = "exact_match",
    make_claim("Abacus, coupling and RoPE add numbers of 5 digits, as in training", { "abacus", "coupling", "rope" },
      { 5 }, { above = 90 }),
    make_claim("Abacus and coupling add numbers of 6 and 7 digits", { "abacus", "coupling" }, { 6, 7 }, { above = 50 }),
    make_claim("RoPE does not add numbers of 6 and 7 digits", { "rope" }, { 6, 7 }, { below = 20 }),
    { kind = "table", value = "mean", rows = "encoding", columns = "format", title = "Exact match, mean over digits" },
    { kind = "numbers", rows = "encoding", at = { 2, 5, 6, 7, 8, 10 }, pages = "format" },
    { kind = "curves", lines = "encoding", panels = "format" },
  },
  scales = {
    small = { base = small, learning_rates = { 2e-3 } }, -- chosen on validation in small_rates
    small_rates = { base = small, axes = { format = { "reversed-padded" } }, learning_rates = { 1e-3, 2e-3 } },
  },
}
