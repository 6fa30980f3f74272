-- First Repeat: a task of one's own, with rotary positions on a small encoder.
return {
  task = { source = "first_repeat.c" },
  encoding = { kind = "rope" },
  model = { use = "small_encoder" },
  train = { use = "quick", steps = 2000, lengths = { 2, 20 } },
  eval = { use = "quick", lengths = { 21, 60, step = 3 } },
}
