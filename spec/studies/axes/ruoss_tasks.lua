-- The tasks of Ruoss et al. 2023, in the order of their tables.
local tasks = { "even_pairs", "modular_arithmetic_simple", "parity_check", "cycle_navigation", "stack_manipulation",
  "reverse_string", "modular_arithmetic_brackets", "solve_equation", "duplicate_string", "missing_duplicate_string",
  "odds_first", "binary_addition", "binary_multiplication", "compute_sqrt", "bucket_sort" }

local values = {}
for i = 1, #tasks do
  values[i] = { name = tasks[i], spec = { task = { kind = tasks[i] } } }
end

return values
