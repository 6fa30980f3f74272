return {
  title = "names that meet",
  base = { task = { kind = "bucket_sort" } },
  axes = {
    { name = "a", values = { { name = "x", spec = {} }, { name = "x", spec = {} }, { name = "x-y", spec = {} } } },
    { name = "a", values = { { name = "z", spec = {} } } },
  },
}
