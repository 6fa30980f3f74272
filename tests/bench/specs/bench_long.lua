-- Evaluation of long sequences. Two layers of the base model: the last one computes only used rows, and more layers
-- take too long under an instruction counter.
return {
  task     = { kind = "parity_check" },
  encoding = { kind = "sinusoid" },
  model    = { use = "ruoss_encoder", layers = 2 },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
