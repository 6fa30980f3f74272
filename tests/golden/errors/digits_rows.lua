-- A table needs a row for position 0; no symbol of this task is a digit.
return {
  task     = { kind = "cycle_navigation" },
  encoding = { positions = { kind = "digits", max_position = 100, offset = 100 },
    additive = { kind = "learned", rows = 100, at = "block" }, encoder = { positions = { kind = "digits" } } },
  model    = { kind = "encoder_decoder" },
  train    = { use = "quick" },
}
