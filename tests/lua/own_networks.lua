-- A user's own networks, from the text of their description: plans, and text with a given block.

local support = require("support")

local lu = require("luaunit")
local project = require("project").new(".")

local M = {}

-- The plan of a spec with a user's network of this text; sets: as on the command line.
function M.planned(text, sets, spec)
  support.write("net.lua", text)
  local path = support.write("mine.lua", spec or [[return { task = { kind = "bucket_sort" },
    model = { source = "net.lua", layers = 2, heads = 2, width = 16, feedforward = 32 } }]])
  return project:plan(path, sets)
end

function M.good(text, sets, spec)
  local result, message = M.planned(text, sets, spec)
  lu.assertTrue(result ~= nil, message)
  return result.plan
end

-- A description with these lines in its block, the first of which is line 5.
function M.with_block(lines)
  return ([[
return function(net, model)
  local x = net:embed("embedding", net:stream("source"), { scale = 4, place = net.additive })
  local b = net:block("layer", model.layers)
  local h = b:input(x)
%s
  net:classify(net:readout(b.result, "last"))
end
]]):format(lines)
end

M.PLAIN = support.read("tests/golden/networks/plain.lua")

M.FULL = [[b:output(b:add(h, b:feedforward(h, { hidden = 32, activation = "relu" })))]]

return M
