-- scale: tiny
return {
  title = "a scale that is not there",
  axes = { { name = "task", values = { { name = "sort", spec = { task = { kind = "bucket_sort" } } } } } },
  scales = { small = {}, medium = {} },
}
