-- Passes without their number, a final norm, noise or tokens; descending numbers of passes.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model = { layers = 2, loops = { start = "zeros", deviation = 1, norm = "inside" } },
  eval = { by = { passes = { list = { 8, 4 } } } },
}
