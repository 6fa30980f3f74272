-- A ramp between slow and fast pairs that goes down.
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "rope_yarn", rotation = { scaling = { beta_slow = 40 } } },
}
