-- Passes by an axis without their maximum.
return {
  task = { kind = "latin_square" },
  encoding = { kind = "none" },
  model = { loops = { times = "vectors" } },
}
