-- Numbers of passes for a decoder that reads its own answers.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "alibi" },
  model = { kind = "decoder", layers = 2, loops = { times = 4, inject = true, start = "zeros" } },
  eval = { by = { passes = { 2, 8 } } },
}
