-- Addition by windows in the place of positions, configuration D of Duan and Shi 2024, table 3. In the source the
-- digits of both operands stand side by side, so that the window goes two keys to the left for each query.
return {
  use      = "./abc_small_successor_a.lua",
  task     = { kind = "addition", options = { input = "aligned" } },
  encoding = { kind = "abc_d", cross = { mask = { stride = 2 } } },
}
