-- Addition by a small encoder-decoder in a frame of 61 places, configuration A of Duan and Shi 2024, table 3.
return {
  use  = "./abc_small_successor_a.lua",
  task = { kind = "addition" },
}
