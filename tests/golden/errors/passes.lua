-- Numbers of passes for a model without loops, also during training.
return {
  task = { kind = "reverse_string" },
  encoding = { kind = "rope" },
  eval = { by = { passes = { 2, 8 } }, during = { every = 5, by = { passes = { 1, 2 } } } },
}
