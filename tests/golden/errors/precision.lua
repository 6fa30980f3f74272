-- A precision that this build does not have.
return {
  precision = "bf16",
  task = { kind = "bucket_sort" },
}
