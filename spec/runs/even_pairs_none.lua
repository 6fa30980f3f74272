-- Even pairs without any encoding: first and last token cannot be told from the others.
return {
  task     = { kind = "even_pairs" },
  encoding = { kind = "none" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
