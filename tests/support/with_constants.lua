-- The generator as ever, but for tensors that are not learned, which no spec has so far: with_constants.lua NAME,NAME...
-- WORDS. Tensors whose names end so keep their initial values; WORDS are those of ./longhand.

package.path = "generator/?.lua;" .. package.path

local layout = require("layout")
local names = table.remove(arg, 1)
local derive = layout.tensors

local function is_named(tensor)
  for ending in names:gmatch("[^,]+") do
    if tensor.name:sub(-#ending) == ending then
      return true
    end
  end
end

function layout.tensors(plan)
  derive(plan)
  for _, tensor in ipairs(plan.tensors) do
    if is_named(tensor) then
      tensor.learned = false
      plan.parameters = plan.parameters - tensor.shape[1] * (tensor.shape[2] or 1)
    end
  end
end

dofile("generator/main.lua")
