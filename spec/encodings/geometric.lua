-- Geometric attention with directional encoding (Csordas et al. 2022, "The Neural Data Router"; Ruoss et al. 2023).
return {
  made_for = "encoder",
  normaliser = { kind = "geometric" },
}
