-- Evaluation of long sequences. Two layers of the base model: in the last one only what is read is computed, and more
-- take an instruction counter too long.
return {
  task     = { kind = "parity_check" },
  encoding = { kind = "sinusoid" },
  model    = { use = "ruoss_encoder", layers = 2 },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
