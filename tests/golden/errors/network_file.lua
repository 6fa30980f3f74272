-- A file that is not a description.
return {
  task = { kind = "bucket_sort" },
  model = { source = "../networks/none.lua", tied = true },
}
