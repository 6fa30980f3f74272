-- Ruoss et al. 2023, table 3: random positions of sines and cosines, in ascending order and in sampled order.
return {
  title = "Sorted and unsorted random positions",
  base = { model = { use = "ruoss_encoder" }, train = { use = "ruoss" }, eval = { use = "ruoss" } },
  axes = {
    { name = "task", use = "ruoss_tasks" },
    { name = "encoding", use = "ruoss_encodings", only = { "rand-sincos-unsorted", "rand-sincos" } },
  },
  seeds = { 0, 9 },
  learning_rates = { 1e-4, 3e-4, 5e-4 },
  report = {
    metric = "accuracy", select = "test",
    { kind = "best", value = "max", rows = "task", axis = "encoding", of = { "rand-sincos" },
      against = { "rand-sincos-unsorted" }, titles = { of = "sorted", against = "unsorted" }, title = "Table 3",
      published = "ruoss_2023/table3", names = { encoding = {
        ["rand-sincos"] = { encoding = "rand-sincos", sorted = 1 },
        ["rand-sincos-unsorted"] = { encoding = "rand-sincos", sorted = 0 },
      } } },
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
        encoding = { "rand-sincos-unsorted", "rand-sincos" },
      },
      seeds = { 0, 1 },
      learning_rates = { 1e-3, 3e-3 },
    },
  },
}
