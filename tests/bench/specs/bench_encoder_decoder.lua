-- The network of abc_small_successor_a on a task that samples examples on demand: making all of them beforehand would
-- take longer under an instruction counter than the step.
return {
  task     = { kind = "reverse_string" },
  encoding = { kind = "abc_a" },
  model    = { use = "small_encoder_decoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
