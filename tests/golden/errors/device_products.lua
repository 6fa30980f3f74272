-- Products by warp are for narrow models.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "none" },
  model = { use = "ruoss_encoder", width = 256 },
  train = { use = "ruoss" },
  eval = { use = "ruoss" },
  device_products = "warps",
}
