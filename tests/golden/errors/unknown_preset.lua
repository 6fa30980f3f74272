-- Presets that do not exist.
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "sinusiod" },
  model = { use = "rouss_encoder" },
}
