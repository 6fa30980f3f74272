-- No positional encoding: all tokens of one kind look alike.
return {
  additive = { kind = "none" },
  rotation = { kind = "none" },
}
