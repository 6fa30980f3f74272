-- The successor by windows instead of positions, configuration D of Duan and Shi 2024, table 3. The model answers
-- correctly for numbers of any length.
return {
  use      = "./abc_small_successor_a.lua",
  encoding = { kind = "abc_d" },
}
