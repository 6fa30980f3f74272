-- A comma is missing.
return {
  task = { kind = "bucket_sort" }
  model = { layers = 2 },
}
