-- The network of abc_small_successor_a on a task that makes its examples as they are asked for: making all of them
-- beforehand would take an instruction counter longer than the step.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "abc_a" },
  model    = { use = "small_encoder_decoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
