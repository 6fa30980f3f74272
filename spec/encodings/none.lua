-- No positional encoding: attention cannot distinguish equal tokens at different positions.
return {
  additive = { kind = "none" },
  rotation = { kind = "none" },
}
