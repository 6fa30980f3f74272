-- Addition of Duan and Shi 2024 with windows in the place of positions, configuration D of their table 3. In the source
-- the digits of both operands stand side by side, so that the window goes two keys to the left for each query.
return {
  use      = "./abc_addition_vanilla.lua",
  task     = { options = { input = "aligned" } },
  encoding = { kind = "abc_d", cross = { mask = { stride = 2 } } },
}
