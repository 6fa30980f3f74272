-- No positions at all (Ito et al. 2024).
return {
  additive = { kind = "none" },
}
