-- Addition of Duan and Shi 2024 with windows instead of positions, configuration D of their table 3. The source holds
-- the digits of both operands side by side, so the window moves by two keys for each query.
return {
  use      = "./abc_addition_vanilla.lua",
  task     = { options = { input = "aligned" } },
  encoding = { kind = "abc_d", cross = { mask = { stride = 2 } } },
}
