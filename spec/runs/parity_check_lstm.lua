-- Parity by a recurrent model, whose state can hold the parity of all symbols so far.
return {
  task     = { kind = "parity_check" },
  encoding = { kind = "none" },
  model    = { use = "deletang_lstm" },
  train    = { use = "deletang" },
  eval     = { use = "ruoss" },
}
