-- A file that is no description.
return {
  task = { kind = "bucket_sort" },
  model = { source = "../networks/none.lua", tied = true },
}
