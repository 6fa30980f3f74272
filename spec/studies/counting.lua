-- Counting beyond the training lengths: positions or gates that depend on the tokens (CoPE, Golovneva et al. 2024; FoX,
-- Lin et al. 2025), compared with rotations by the position.
--
-- Without a scale, the model's size, dropout, batch, steps and the learning rate of 7e-5 are those of CoPE's toy tasks.
local causal = { kind = "causal" }

return {
  title = "Counting beyond the training lengths",
  prefix = "counting",
  base = {
    task = { kind = "counting" },
    model = { kind = "encoder", readout = "in_place", layers = 4, heads = 4, width = 256, feedforward = 1024,
      dropout = 0.1 },
    train = { batch = 64, steps = 15600, lengths = { 1, 40 } },
    eval = { lengths = { list = { 20, 40, 60, 80, 120, 160, 200 } }, examples = 256 },
  },
  axes = {
    { name = "encoding", values = {
      { name = "none", spec = { encoding = { kind = "none", mask = causal } } },
      { name = "rope", spec = { encoding = { kind = "rope", mask = causal } } },
      { name = "alibi", spec = { encoding = { kind = "alibi_causal" } } },
      { name = "cope", spec = { encoding = { kind = "cope" } } },
      { name = "fox", spec = { encoding = { kind = "fox" } } },
    } },
  },
  seeds = { 0, 4 },
  learning_rates = { 7e-5, 3e-4 },
  report = {
    metric = "accuracy",
    { kind = "claim", rows = "encoding", only = { encoding = { "rope", "cope", "fox" } }, at = { 20, 40 },
      bound = { above = 90 }, title = "All encodings count at training lengths" },
    { kind = "claim", rows = "encoding", only = { encoding = { "cope", "fox" } }, at = { 80 }, bound = { above = 90 },
      title = "CoPE and FoX count at twice the longest training length" },
    { kind = "claim", rows = "encoding", only = { encoding = { "rope" } }, at = { 80 }, bound = { below = 80 },
      title = "RoPE does not count at twice the longest training length" },
    { kind = "numbers", rows = "encoding", at = { 20, 40, 60, 80, 120, 160, 200 }, title = "Accuracy by length" },
    { kind = "curves", lines = "encoding", title = "Accuracy by length" },
  },
  scales = {
    small = {
      base = {
        model = { layers = 2, width = 32, feedforward = 128, dropout = 0 },
        train = { steps = 3000 },
      },
      axes = { encoding = { "rope", "cope", "fox" } },
      learning_rates = { 1e-3, 3e-3 },
    },
  },
}
