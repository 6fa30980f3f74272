-- A decoder with settings that see both sides, with a field of encoders, and with a window's right side.
return {
  task = { kind = "bucket_sort" },
  encoding = { normaliser = { kind = "geometric" } },
  model = { kind = "decoder", layers = 2, spare_token = false, norm = { kind = "rms", place = "before" } },
}
