-- Ruoss et al. 2023, table 5: geometric attention compared with the best randomized encoding among the runs of
-- ruoss_table1.
local function compare(value, published, title)
  return { kind = "best", value = value, rows = "task", axis = "encoding",
    of = { "rand-sincos", "rand-relative", "rand-alibi", "rand-rope", "rand-learned" }, against = { "geometric" },
    titles = { of = "best randomized", against = "geometric" }, title = title,
    published = { file = "ruoss_2023/table5", of = published, against = "geometric_" .. value } }
end

return {
  title = "Geometric attention",
  base = { model = { use = "ruoss_encoder" }, train = { use = "ruoss" }, eval = { use = "ruoss" } },
  axes = {
    { name = "task", use = "ruoss_tasks" },
    { name = "encoding", use = "ruoss_encodings", only = { "rand-sincos", "rand-relative", "rand-alibi", "rand-rope",
      "rand-learned", "geometric" } },
  },
  seeds = { 0, 9 },
  learning_rates = { 1e-4, 3e-4, 5e-4 },
  report = {
    metric = "accuracy", select = "test",
    compare("max", "table1_best_max", "Table 5, maximum"), compare("mean", "table4_best_mean", "Table 5, mean"),
    { kind = "curves", panels = "task", lines = "encoding", title = "Accuracy by length" },
  },
  scales = {
    small = {
      base = {
        model = { use = "small_encoder" },
        train = { use = "quick", batch = 32, steps = 500 },
        eval = { lengths = { list = { 20, 41, 60, 80, 100 } }, examples = 64 },
      },
      axes = {
        task = { "parity_check", "reverse_string", "bucket_sort" },
        encoding = { "rand-sincos", "rand-relative", "geometric" },
      },
      seeds = { 0, 1 },
      learning_rates = { 1e-3, 3e-3 },
    },
  },
}
