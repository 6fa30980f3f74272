-- Rotary encoding: queries and keys are rotated by their position (Su et al. 2021).
return {
  rotation = { kind = "rope", base = 10000 },
}
