-- Ruoss et al. 2023, tables 1 and 4: accuracy at lengths 41 to 500 of every task with every encoding.
return {
  title = "Accuracy beyond the training lengths",
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
    { kind = "table", value = "max", rows = "task", columns = "encoding", published = "ruoss_2023/table1",
      title = "Table 1" },
    { kind = "table", value = "mean", rows = "task", columns = "encoding", published = "ruoss_2023/table4",
      title = "Table 4" },
    { kind = "best", value = "max", rows = "task", axis = "encoding", published = "ruoss_2023/table1",
      of = { "rand-sincos", "rand-relative", "rand-alibi", "rand-rope", "rand-learned" },
      against = { "none", "sincos", "relative", "alibi", "rope", "learned" },
      titles = { of = "best randomized", against = "best plain" }, title = "Gain from randomizing" },
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
        encoding = { "none", "sincos", "relative", "rand-sincos", "rand-relative" },
      },
      seeds = { 0, 1 },
      learning_rates = { 1e-3, 3e-3 },
    },
  },
}
