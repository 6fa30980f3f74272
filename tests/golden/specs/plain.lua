-- The least a spec can say.
return {
  task = { kind = "bucket_sort" },
}
