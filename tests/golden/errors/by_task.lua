-- The task gives no positions, and a rotation needs others.
return {
  task     = { kind = "bucket_sort" },
  encoding = { use = "coupling", rotation = { kind = "rope" } },
  train    = { use = "quick" },
}
