-- Weights and scores of a trace of tests/facets/specs/emulated_spacing.lua: check_trace.lua FILE. In the first heads
-- pairs at odd offsets have neither, unless there is one key alone; what else a decoder does not see has none either.

package.path = "generator/?.lua;" .. package.path

local safetensors = require("base.safetensors")

local EVEN_HEADS = 2

local tensors = assert(safetensors.open(arg[1]))
local hidden, checked = 0, 0
for _, name in ipairs(tensors.names) do
  local site = name:match("^(.*)%.attention$")
  if site then
    local shape = tensors.entries[name].shape
    local heads, T, S = shape[#shape - 2], shape[#shape - 1], shape[#shape]
    local weights, scores = assert(safetensors.read(tensors, name)), assert(safetensors.read(tensors, site .. ".scores"))
    for at, weight in ipairs(weights) do
      local h, i, j = (at - 1) // (S * T) % heads, (at - 1) // S % T, (at - 1) % S
      local seen = (h >= EVEN_HEADS or S == 1 or (i - j) % 2 == 0) and not (j > i and name:find("decoder%.layers%.%d+%.attention$"))
      hidden, checked = hidden + (seen and 0 or 1), checked + 1
      assert(seen == (weight > 0) and seen == (scores[at] > -math.huge),
        ("%s: head %d, query %d, key %d has the weight %g, the score %g"):format(name, h, i, j, weight, scores[at]))
    end
  end
end
print(("%d pairs, of which %d are hidden"):format(checked, hidden))
os.exit(hidden > 0)
