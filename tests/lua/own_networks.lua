-- Plans of users' own networks, from the text of their description.

local support = require("support")

local lu = require("luaunit")
local project = require("project").new(".")

local M = {}

-- Plans a spec with a user's network of this text, in the file net.lua. sets: texts "field=value" of --set; spec: the
-- text of the spec, or nil for a small model. Returns the result of project:plan, or nil and a message.
function M.plan_network(text, sets, spec)
  support.write("net.lua", text)
  local path = support.write("mine.lua", spec or [[return { task = { kind = "bucket_sort" },
    model = { source = "net.lua", layers = 2, heads = 2, width = 16, feedforward = 32 } }]])
  return project:plan(path, sets)
end

-- Plans a spec with a user's network, which must be valid; returns the plan. Takes the same arguments as plan_network.
function M.accept_network(text, sets, spec)
  local result, message = M.plan_network(text, sets, spec)
  lu.assertTrue(result ~= nil, message)
  return result.plan
end

-- Returns the text of a description with these lines in its block. The first of these lines is line 5 of the text.
function M.make_description(lines)
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

-- A line of a block with a feedforward layer.
M.FULL = [[b:output(b:add(h, b:feedforward(h, { hidden = 32, activation = "relu" })))]]

return M
