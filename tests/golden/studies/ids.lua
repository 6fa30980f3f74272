return {
  title = "names of cells",
  base = { task = { kind = "bucket_sort" } },
  axes = {
    { name = "1st", values = { { name = "x-y", spec = {} }, { name = "x", spec = {} }, { name = "9", spec = {} } } },
    { name = "b", values = { { name = "z", spec = {} }, { name = "y-z", spec = {} } } },
  },
}
