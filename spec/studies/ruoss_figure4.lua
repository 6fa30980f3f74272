-- Ruoss et al. 2023, figure 4: accuracy at every length from 1 to 500. The runs are those of ruoss_table1, which are
-- evaluated at further lengths.
return {
  title = "Accuracy by length",
  base = {
    model = { use = "ruoss_encoder" },
    train = { use = "ruoss" },
    eval = { use = "ruoss", lengths = { 1, 500 } },
  },
  axes = {
    { name = "task", use = "ruoss_tasks" },
    { name = "encoding", use = "ruoss_encodings", only = { "none", "sincos", "relative", "alibi", "rope", "learned",
      "rand-sincos", "rand-relative", "rand-alibi", "rand-rope", "rand-learned" } },
  },
  seeds = { 0, 9 },
  learning_rates = { 1e-4, 3e-4, 5e-4 },
  report = {
    metric = "accuracy", select = "test",
    { kind = "curves", panels = "task", lines = "encoding", setting = "ruoss_2023/setting",
      title = "Figure 4" },
  },
  scales = {
    small = {
      base = {
        model = { use = "small_encoder" },
        train = { use = "quick", batch = 32, steps = 500 },
        eval = { lengths = { list = { 1, 5, 10, 20, 30, 40, 41, 60, 80, 100 } }, examples = 64 },
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
