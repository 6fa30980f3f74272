-- Rotary encoding whose queries see a window in every other layer, and all keys in the others (Gemma Team 2024). The
-- number of layers must be even.
--
-- The window of Gemma 2 has 4096 keys; here it has 8 on each side, and in a decoder 8 before the query.
return {
  rotation = { kind = "rope", base = 10000 },
  layers = {
    { mask = { kind = "window", left = 8, right = 8 } },
    {},
  },
}
