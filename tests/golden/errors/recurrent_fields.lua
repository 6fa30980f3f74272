-- Fields of models with attention, and an unknown cell.
return {
  task = { kind = "parity_check" },
  model = { kind = "recurrent", cell = "gru", heads = 8, norm = { kind = "rms" } },
}
