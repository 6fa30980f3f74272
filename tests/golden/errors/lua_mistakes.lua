-- Lua that looks like something else: nothing but the missing comma is told.
local list = { 1, 2 }
local half = #list // 1
local both = { #list, # list, [1] = 2 ~= 3, half
  // 2 }
return {
  task = { kind = "bucket_sort" }
  train = { steps = #list * 2 ^ 3 },
}
