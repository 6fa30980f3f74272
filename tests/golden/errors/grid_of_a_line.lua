-- A sequence is not a grid, and neither is a target.
return {
  task = { kind = "reverse_string" },
  encoding = { positions = { kind = "grid" }, additive = { kind = "sinusoid", at = "block" } },
  model = { kind = "encoder_decoder" },
}
