-- First Repeat: a user's own task, with rotary positions in a small encoder.
return {
  task = { source = "first_repeat.c" },
  encoding = { kind = "rope" },
  model = { use = "small_encoder" },
  train = { use = "quick", steps = 2000, lengths = { 2, 20 } },
  eval = { use = "quick", lengths = { 21, 60, step = 3 } },
}
