-- Specs whose network is a random description (tests/lua/networks.lua), for tests of generated code: what the generator
-- prints takes the place of the encoder's description.

local networks = require("networks")

local encoder = require("network.models.encoder")
local describe = encoder -- the description of the network that is planned now

package.loaded["network.models.encoder"] = function(net, model)
  return describe(net, model)
end

local M = {}

-- As a spec has them; every one of them with every network would be the same again.
local ENCODINGS = {
  [[kind = "none"]], [[kind = "rope"]], [[kind = "alibi"]], [[kind = "relative"]], [[kind = "sinusoid"]],
  [[kind = "learned"]], [[kind = "geometric"]], [[relative = { kind = "shaw", clip = 4 }]],
  [[kind = "rope", mask = { kind = "causal" }]], [[kind = "none", mask = { kind = "window", left = 2, right = 1 }]],
}

local SPEC = [[
return {
  task = { kind = "bucket_sort" },
  encoding = { %s },
  model = { use = "ruoss_encoder", layers = %d, heads = 2, width = 16, feedforward = 32, dropout = %g },
  train = { use = "ruoss", lengths = { 1, 18 } },
  eval = { lengths = { 1, 18 }, examples = 4 },
  precision = "float64",
}
]]

local function number_of(id)
  return tonumber(id:match("^random_(%d+)$"))
end

M.number_of = number_of

-- What the generator prints today; without what follows `rates` it is any network of one stream.
local LAYERS = 2
local PRINTED = { families = { "self" }, rates = { 0.1 }, layers = LAYERS, tied = false }

-- Calls f with the plan of random_<number> while its description stands in for the encoder's.
-- folder: where the spec is written.
function M.with(project, id, folder, f)
  local number = number_of(id)
  local given = networks.random(number, PRINTED)
  describe = assert(load(given.text))()
  local path = ("%s/%s.lua"):format(folder, id)
  local file = assert(io.open(path, "wb"))
  file:write(SPEC:format(ENCODINGS[number % #ENCODINGS + 1], LAYERS,
    given.text:find(", 0.1)", 1, true) and 0.1 or 0), "\n--[[\n", given.text, "]]\n")
  file:close()
  local spec, message = project:plan(path)
  f(assert(spec, message).plan)
  describe = encoder
end

return M
