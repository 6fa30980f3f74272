-- Geometric attention with directional encoding (Csordas et al. 2022, "The Neural Data Router"; Ruoss et al. 2023).
return {
  normaliser = { kind = "geometric" },
}
