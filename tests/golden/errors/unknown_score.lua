-- A score's preset that is not there hides no other mistake, and rules and formulas wait for it.
return {
  task = { kind = "bucket_sort" },
  encoding = { kind = "relative", score = { use = "alalibi" }, positions = { kind = "randomised" } },
  model = { use = "small_encoder" },
  train = { use = "quick", lengths = { 1, 10 } },
  eval = { use = "quick" },
}
