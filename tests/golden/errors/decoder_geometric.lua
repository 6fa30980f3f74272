-- What sees both sides in a decoder, a field of encoders, a window's right side.
return {
  task = { kind = "bucket_sort" },
  encoding = { normaliser = { kind = "geometric" } },
  model = { kind = "decoder", layers = 2, spare_token = false, norm = { kind = "rms", place = "before" } },
}
