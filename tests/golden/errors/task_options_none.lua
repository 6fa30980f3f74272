-- An option of a task that has none.
return {
  task = { kind = "bucket_sort", options = { order = "up" } },
}
