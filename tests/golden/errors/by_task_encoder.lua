-- An encoder reads no tokens of the target, to which a task gives positions.
return {
  task     = { kind = "reverse_string" },
  encoding = { use = "coupling", additive = { rows = 2048 } },
  train    = { use = "quick" },
}
