-- Passes without their number, a final norm or tokens; descending numbers of passes.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  model = { layers = 2, loops = { start = "zeros", norm = "inside" } },
  eval = { by = { passes = { list = { 8, 4 } } } },
}
