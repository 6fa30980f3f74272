-- Stick-breaking attention (Tan et al. 2024): from the nearest earlier key on, every key takes a share of what is left
-- of a stick of length 1, so nearer keys win without any positions.
return {
  made_for = "decoder",
  mask = { kind = "causal" },
  normaliser = { kind = "stick_breaking" },
}
