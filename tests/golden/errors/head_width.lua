-- Heads that do not fit the width.
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "rope" },
  model = { use = "ruoss_encoder", width = 240, heads = 16 },
}
