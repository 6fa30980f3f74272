-- A name for a task that has one, in letters that no column takes.
return {
  task = { kind = "bucket_sort", name = "Sorting, mine" },
}
