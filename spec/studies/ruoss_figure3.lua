-- Ruoss et al. 2023, figure 3: the number of positions from which random positions are sampled.
return {
  title = "Largest position",
  base = {
    encoding = { kind = "relative", positions = { kind = "randomized" } },
    model = { use = "ruoss_encoder" },
    train = { use = "ruoss" },
    eval = { use = "ruoss" },
  },
  axes = {
    { name = "task", use = "ruoss_tasks", only = { "reverse_string", "missing_duplicate_string" } },
    { name = "max_position", values = {
      { name = "1024", spec = { encoding = { positions = { max_position = 1024 } } } },
      { name = "2048", spec = { encoding = { positions = { max_position = 2048 } } } },
      { name = "4096", spec = { encoding = { positions = { max_position = 4096 } } } },
      { name = "8192", spec = { encoding = { positions = { max_position = 8192 } } } },
    } },
  },
  seeds = { 0, 9 },
  learning_rates = { 1e-4, 3e-4, 5e-4 },
  report = {
    metric = "accuracy", select = "test",
    { kind = "axis", show = "max", x = "max_position", lines = "task", setting = "ruoss_2023/setting",
      title = "Figure 3" },
    { kind = "table", value = "max", rows = "task", columns = "max_position", title = "Maximum" },
    { kind = "table", value = "mean", rows = "task", columns = "max_position", title = "Mean" },
  },
  scales = {
    small = {
      base = {
        model = { use = "small_encoder" },
        train = { use = "quick", batch = 32, steps = 500 },
        eval = { lengths = { list = { 20, 41, 60, 80, 100 } }, examples = 64 },
      },
      axes = { max_position = { "1024", "8192" } },
      seeds = { 0, 1 },
      learning_rates = { 1e-3, 3e-3 },
    },
  },
}
