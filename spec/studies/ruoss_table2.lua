-- Ruoss et al. 2023, table 2: the duration of training. The runs are those of ruoss_table1.
return {
  title = "Training time",
  base = { model = { use = "ruoss_encoder" }, train = { use = "ruoss" }, eval = { use = "ruoss" } },
  axes = {
    { name = "task", use = "ruoss_tasks" },
    { name = "encoding", use = "ruoss_encodings", only = { "none", "sincos", "relative", "alibi", "rope", "learned",
      "rand-sincos", "rand-relative", "rand-alibi", "rand-rope", "rand-learned" } },
  },
  seeds = { 0, 9 },
  learning_rates = { 1e-4, 3e-4, 5e-4 },
  report = {
    metric = "accuracy", select = "test",
    { kind = "table", value = "hours", rows = "task", columns = "encoding", published = "ruoss_2023/table2",
      title = "Table 2" },
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
        encoding = { "none", "sincos", "relative", "rand-sincos", "rand-relative" },
      },
      seeds = { 0, 1 },
      learning_rates = { 1e-3, 3e-3 },
    },
  },
}
