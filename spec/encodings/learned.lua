-- A learned vector per position, added to the token embedding.
return {
  additive = { kind = "learned", init_sigma = 1.0 },
}
