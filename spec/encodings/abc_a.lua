-- Configuration A of Duan & Shi 2024, table 3: sinusoids, and every query sees all that it may.
return {
  additive = { kind = "sinusoid" },
}
