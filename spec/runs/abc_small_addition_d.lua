-- Addition by windows instead of positions, configuration D of Duan and Shi 2024, table 3. The source holds the digits
-- of both operands side by side, so the window moves by two keys for each query.
return {
  use      = "./abc_small_successor_a.lua",
  task     = { kind = "addition", options = { input = "aligned" } },
  encoding = { kind = "abc_d", cross = { mask = { stride = 2 } } },
}
