return {
  title = "scales",
  axes = { { name = "task", values = { { name = "sort", spec = { task = { kind = "bucket_sort" } } } } } },
  seeds = { 3, 1 },
  learning_rates = { 1e-3, 0, 1e-3, "fast" },
  scales = {
    small = { axis = {}, axes = { task = { "sorts" }, taks = { "sort" } }, seeds = { 0 }, learning_rates = {} },
    medium = { base = { use = "./base.lua" }, axes = { task = "sort" } },
    ["very large"] = 3,
  },
}
