-- Interpretations ("readings") of random distances on which the tables of Ruoss et al. 2023 may be based (switch S1 in
-- docs/switches.md).
local function use_reading(reading)
  local positions = { kind = "randomized", max_position = 2048, reading = reading }
  return { encoding = { kind = "relative", positions = positions } }
end

local paper = { encoding = {
  ["rand-relative-clamped"] = "rand-relative",
  ["rand-relative-pairwise"] = "rand-relative",
} }

return {
  title = "Three readings of randomized relative distances",
  base = { model = { use = "ruoss_encoder" }, train = { use = "ruoss" }, eval = { use = "ruoss" } },
  axes = {
    { name = "task", use = "ruoss_tasks", only = { "reverse_string", "missing_duplicate_string" } },
    { name = "encoding", values = {
      { name = "relative", spec = { encoding = { kind = "relative" } } },
      { name = "rand-relative", spec = use_reading("drawn") },
      { name = "rand-relative-clamped", spec = use_reading("clamped") },
      { name = "rand-relative-pairwise", spec = use_reading("difference") },
    } },
  },
  seeds = { 0, 9 },
  learning_rates = { 1e-4, 3e-4, 5e-4 },
  report = {
    metric = "accuracy", select = "test",
    { kind = "table", value = "max", rows = "task", columns = "encoding", published = "ruoss_2023/table1",
      names = paper, title = "Maximum" },
    { kind = "table", value = "mean", rows = "task", columns = "encoding", published = "ruoss_2023/table4",
      names = paper, title = "Mean" },
    { kind = "curves", panels = "task", lines = "encoding", title = "Accuracy by length" },
  },
  scales = {
    small = {
      base = {
        model = { use = "small_encoder" },
        train = { use = "quick", batch = 32, steps = 500 },
        eval = { lengths = { list = { 20, 41, 60, 80, 100 } }, examples = 64 },
      },
      axes = { task = { "reverse_string" } },
      seeds = { 0, 1 },
      learning_rates = { 1e-3, 3e-3 },
    },
  },
}
