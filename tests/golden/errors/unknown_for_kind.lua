-- A field that another kind has.
return {
  task = { kind = "bucket_sort" },
  encoding = { additive = { kind = "sinusoid", rows = 2048 } },
}
