-- No positional encoding: attention cannot distinguish equal tokens at different places.
return {
  additive = { kind = "none" },
  rotation = { kind = "none" },
}
