-- Duan and Shi 2024, table 3: windows and cyclic positions, configurations B to D. A is duan_table1's vanilla model.
--
-- If a task has two operands, their digits alternate in the source, and the window moves by two keys for each query.
local aligned = { cross = { mask = { stride = 2 } } }

return {
  title = "Windows instead of positions",
  base = {
    model = { use = "duan_encoder_decoder", encoder_layers = 0 },
    train = { use = "duan", epochs = 16 },
    eval = { use = "duan", splits = { "test", "validation" },
      during = { every = 1792, splits = { "validation" }, examples = 500 } },
  },
  axes = {
    { name = "model", values = {
      { name = "b", spec = { encoding = { use = "abc_b" } } },
      { name = "c", spec = { encoding = { use = "abc_c" } } },
      { name = "d", spec = { encoding = { use = "abc_d" } } },
    } },
    { name = "task", values = {
      { name = "successor", spec = { task = { kind = "successor" } } },
      { name = "parity", spec = { task = { kind = "parity" } } },
      { name = "addition", spec = { task = { kind = "addition", options = { input = "aligned" } },
        encoding = aligned } },
      { name = "multiplication", spec = { task = { kind = "multiplication", options = { input = "aligned" } },
        encoding = aligned } },
    } },
  },
  seeds = { 0, 2 },
  report = {
    metric = "exact_match", select = "validation",
    { kind = "numbers", rows = "model", at = { 6, 10, 15, 20, 50 }, pages = "task", published = "duan_2024/table3",
      title = "Exact match by significant digits" },
    { kind = "curves", panels = "task", lines = "model", title = "Exact match by significant digits" },
    { kind = "progress", lines = "model", pages = "task" },
  },
  scales = {
    small = {
      base = {
        task = { options = { width = 16, numbers = 4096 } },
        model = { decoder_layers = 1, heads = 2, width = 32, feedforward = 64, dropout = 0 },
        train = { epochs = 6, batch = 64, learning_rate = 4e-3 },
        eval = { by = { digits = { 1, 15 } }, examples = 20, during = { every = 100, examples = 20 } },
      },
      axes = { task = { "successor", "addition" } },
      seeds = { 0, 0 },
    },
  },
}
