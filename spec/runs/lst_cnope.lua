-- The Latin Square Task without positions under a causal mask, logits times 100: c-nope of Ito et al. 2024.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "lst_cnope" },
  model    = { use = "lst_encoder" },
  train    = { use = "lst" },
  eval     = { use = "lst" },
}
