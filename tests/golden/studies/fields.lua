return {
  titel = "a slip",
  title = "two\nlines",
  base = { use = "./base.lua", modle = {}, train = 3 },
  axes = {
    { name = "task", values = { { name = "Sort", spec = {} }, { name = "sort" }, { name = "copy", spec = { use = "x" } } } },
    { name = "encoding", use = "ruoss_encoding" },
    { name = "width", values = { { name = "16", spec = {} }, { name = "32", spec = {} } }, only = { "16", "33" } },
    { name = "width", values = { { name = "16", spec = {}, seed = 3 } } },
    { values = {}, use = "ruoss_tasks" },
    { name = "depth" },
    7,
  },
  report = "all",
}
