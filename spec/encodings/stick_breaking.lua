-- Stick-breaking attention (Tan et al. 2024): from the nearest earlier key on, every key takes a share of what is left
-- of a total weight of 1, the stick, so nearer keys are preferred without any positions.
return {
  made_for = "decoder",
  mask = { kind = "causal" },
  normaliser = { kind = "stick_breaking" },
}
