-- Passes by an axis of a task that samples its examples.
-- set: model.loops.times=digits
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model = { loops = { times = "length", max_times = 8 } },
}
