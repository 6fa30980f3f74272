-- Configuration A of Duan & Shi 2024, table 3: sinusoids, without windows.
return {
  additive = { kind = "sinusoid" },
}
