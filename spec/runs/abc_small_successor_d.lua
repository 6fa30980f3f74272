-- The successor by windows in the place of positions, configuration D of Duan and Shi 2024, table 3: it is right on
-- numbers of any length.
return {
  use      = "./abc_small_successor_a.lua",
  encoding = { kind = "abc_d" },
}
