-- The tasks of Ruoss et al. 2023, in the order of their tables.
return {
  { name = "even_pairs", spec = { task = { kind = "even_pairs" } } },
  { name = "modular_arithmetic_simple", spec = { task = { kind = "modular_arithmetic_simple" } } },
  { name = "parity_check", spec = { task = { kind = "parity_check" } } },
  { name = "cycle_navigation", spec = { task = { kind = "cycle_navigation" } } },
  { name = "stack_manipulation", spec = { task = { kind = "stack_manipulation" } } },
  { name = "reverse_string", spec = { task = { kind = "reverse_string" } } },
  { name = "modular_arithmetic_brackets", spec = { task = { kind = "modular_arithmetic_brackets" } } },
  { name = "solve_equation", spec = { task = { kind = "solve_equation" } } },
  { name = "duplicate_string", spec = { task = { kind = "duplicate_string" } } },
  { name = "missing_duplicate_string", spec = { task = { kind = "missing_duplicate_string" } } },
  { name = "odds_first", spec = { task = { kind = "odds_first" } } },
  { name = "binary_addition", spec = { task = { kind = "binary_addition" } } },
  { name = "binary_multiplication", spec = { task = { kind = "binary_multiplication" } } },
  { name = "compute_sqrt", spec = { task = { kind = "compute_sqrt" } } },
  { name = "bucket_sort", spec = { task = { kind = "bucket_sort" } } },
}
