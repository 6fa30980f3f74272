-- Runs the generator with constant tensors, which a spec cannot request: with_constants.lua NAME,NAME... WORDS. Tensors
-- whose names have these endings keep their initial values; WORDS are arguments of ./longhand.

package.path = "generator/?.lua;" .. package.path

local parameters = require("network.graph.parameters")
local names = table.remove(arg, 1)
local derive = parameters.derive

local function is_named(tensor)
  for ending in names:gmatch("[^,]+") do
    if tensor.name:sub(-#ending) == ending then
      return true
    end
  end
end

function parameters.derive(net)
  local derived = derive(net)
  for _, tensor in ipairs(derived.tensors) do
    if is_named(tensor) then
      tensor.learned = false
      derived.count = derived.count - tensor.shape[1] * (tensor.shape[2] or 1)
    end
  end
  return derived
end

dofile("generator/main.lua")
