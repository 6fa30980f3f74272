-- The Latin Square Task without positions under a causal mask, logits times 100: c-nope of Ito et al. 2024.
return {
  task     = { kind = "latin_square" },
  encoding = { kind = "lst_cnope" },
  model    = { use = "lst_encoder" },
  train    = { use = "lst" },
  eval     = { by = { vectors = true, puzzle = true }, splits = { "train", "test", "validation" }, examples = 2700,
               during = { every = 640, by = { vectors = true }, examples = 900 } },
}
