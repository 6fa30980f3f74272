-- A maximum of passes that the task length determines.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model = { loops = { times = "length", max_times = 8 } },
}
