-- Even pairs without any encoding: the model cannot distinguish the first and the last token from the others.
return {
  task     = { kind = "even_pairs" },
  encoding = { kind = "none" },
  model    = { use = "ruoss_encoder" },
  train    = { use = "ruoss" },
  eval     = { use = "ruoss" },
}
