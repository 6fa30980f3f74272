-- Duan and Shi 2024, tables 1 and 2 and figure 1: vanilla models, other encodings, and models with a calibrated bias.
--
-- Baselines as in the paper are shown next to the paper's numbers. Fair baselines, each at its best learning rate, have
-- tables of their own.
local paper = { model = { "vanilla", "alibi", "rope", "rope-512", "nope", "abc" } }
local fair = { model = { "vanilla-fair", "alibi-fair", "rope-fair", "rope-512-fair", "shaw-fair", "nope-fair", "abc" } }

return {
  title = "Calibrated biases and other encodings in arithmetic",
  base = {
    model = { use = "duan_encoder_decoder", encoder_layers = 0 },
    train = { use = "duan", epochs = 256 },
    eval = { use = "duan", splits = { "test", "validation" },
      during = { every = 1792, splits = { "validation" }, examples = 500 } },
  },
  axes = {
    { name = "task", use = "duan_tasks", only = { "successor", "addition", "multiplication" } },
    { name = "model", use = "duan_baselines" },
    { name = "seed", use = "duan_seeds" },
  },
  stages = {
    { name = "teachers", cells = { model = { "vanilla" } } },
    { name = "students", cells = { model = { "abc" }, task = { "successor", "addition" } }, from = "teachers",
      verb = "calibrate" },
    -- In the source of a product, the factor of one digit is the last token but one.
    { name = "students_of_products", cells = { model = { "abc" }, task = { "multiplication" } }, from = "teachers",
      verb = "calibrate", options = { set = { "directions.cross=-1,0" } } },
  },
  report = {
    metric = "exact_match", select = "validation",
    { kind = "numbers", rows = "model", at = { 6, 10, 15, 20, 50 }, pages = "task", over = "seed", only = paper,
      published = "duan_2024/table1", names = { model = { ["rope-512"] = "rope" } },
      title = "As in the paper: exact match by significant digits" },
    { kind = "numbers", rows = "model", at = { 6, 10, 15, 20, 50 }, pages = "task", over = "seed", only = fair,
      title = "Fair baselines: exact match by significant digits" },
    { kind = "curves", panels = "task", lines = "model", over = "seed", only = paper,
      title = "As in the paper: exact match by significant digits" },
    { kind = "curves", panels = "task", lines = "model", over = "seed", only = fair,
      title = "Fair baselines: exact match by significant digits" },
    { kind = "progress", lines = "model", pages = "task", over = "seed", only = paper },
    { kind = "progress", lines = "model", pages = "task", over = "seed", only = fair },
  },
  scales = {
    small = {
      base = {
        task = { options = { width = 30, numbers = 4096 } },
        model = { decoder_layers = 1, heads = 2, width = 32, feedforward = 64, dropout = 0 },
        train = { epochs = 9, batch = 64, learning_rate = 4e-3 },
        eval = { by = { digits = { 1, 29 } }, examples = 20, during = { every = 100, examples = 20 } },
      },
      axes = { task = { "successor" }, model = { "vanilla", "alibi", "alibi-fair", "abc" }, seed = { 0, 1 } },
    },
  },
}
