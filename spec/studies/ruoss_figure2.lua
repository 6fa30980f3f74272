-- Ruoss et al. 2023, figure 2: accuracy by training time, with random positions or with long training sequences.
return {
  title = "Accuracy against training time",
  base = {
    model = { use = "ruoss_encoder" },
    train = { use = "ruoss" },
    eval = { use = "ruoss", during = { every = 20000, lengths = { 41, 500, step = 9 }, examples = 100 } },
  },
  axes = {
    { name = "task", use = "ruoss_tasks", only = { "missing_duplicate_string" } },
    { name = "training", values = {
      { name = "rand-relative-40", spec = { encoding = { kind = "relative", positions = { kind = "randomized",
        max_position = 2048 } }, train = { lengths = { 1, 40 } } } },
      { name = "relative-500", spec = { encoding = { kind = "relative" }, train = { lengths = { 1, 500 } } } },
    } },
  },
  seeds = { 0, 9 },
  learning_rates = { 1e-4, 3e-4, 5e-4 },
  report = {
    metric = "accuracy", select = "test",
    { kind = "time", lines = "training", threshold = 90, slow = "relative-500", fast = "rand-relative-40",
      published = 35.4, setting = "ruoss_2023/setting_figure2", title = "Figure 2" },
    { kind = "curves", lines = "training", title = "Accuracy by length" },
  },
  scales = {
    small = {
      base = {
        model = { use = "small_encoder" },
        train = { use = "quick", batch = 16, steps = 600 },
        eval = { lengths = { list = { 41, 60, 100 } }, examples = 64,
          during = { every = 100, lengths = { list = { 41, 60, 100 } }, examples = 32 } },
      },
      seeds = { 0, 0 },
      learning_rates = { 1e-3, 3e-3 },
    },
  },
}
