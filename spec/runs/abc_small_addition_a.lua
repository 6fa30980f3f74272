-- Addition by a small encoder-decoder in a frame of 52 places, configuration A of Duan and Shi 2024, table 3.
return {
  use  = "./abc_small_successor_a.lua",
  task = { kind = "addition" },
}
