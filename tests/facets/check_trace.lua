-- Checks the effect of this folder's facets in a trace: check_trace.lua FACET FILE. Inputs are runs of one symbol.

package.path = "generator/?.lua;" .. package.path

local safetensors = require("base.safetensors")

local EVEN_HEADS = 2 -- encoding.spacing.heads of tests/facets/specs/emulated_spacing.lua

local tensors = assert(safetensors.open(arg[2]))

local function is_near(a, b) return math.abs(a - b) < 1e-9 end

-- Calls visit(name, h, i, j, S, weight, score, get_first) for every pair of query i and key j of S, in head h of every
-- attention; get_first(key): the score of query 0 in the same head.
local function visit_pairs(visit)
  for _, name in ipairs(tensors.names) do
    local site = name:match("^(.*)%.attention$")
    if site then
      local shape = tensors.entries[name].shape
      local heads, T, S = shape[#shape - 2], shape[#shape - 1], shape[#shape]
      local weights, scores = safetensors.read(tensors, name), safetensors.read(tensors, site .. ".scores")
      for index, weight in ipairs(weights) do
        local h, i, j = (index - 1) // (S * T) % heads, (index - 1) // S % T, (index - 1) % S
        local start = (index - 1) // (S * T) * (S * T)
        visit(name, h, i, j, S, weight, scores[index], function(key) return scores[start + key + 1] end)
      end
    end
  end
end

local checks = {}

-- In the first heads, pairs at odd offsets have weight 0 and score -inf, unless there is only one key; and so have
-- pairs that a decoder's causal mask hides.
function checks.spacing()
  local hidden_count = 0
  visit_pairs(function(name, h, i, j, S, weight, score)
    local is_attended = (h >= EVEN_HEADS or S == 1 or (i - j) % 2 == 0)
      and not (j > i and name:find("decoder%.layers%.%d+%.attention$"))
    hidden_count = hidden_count + (is_attended and 0 or 1)
    assert(is_attended == (weight > 0) and is_attended == (score > -math.huge),
      ("%s: head %d, query %d, key %d has the weight %g, the score %g"):format(name, h, i, j, weight, score))
  end)
  assert(hidden_count > 0, "no pair is hidden")
end

-- In the first layer equal tokens have equal queries, keys and gates: scores fall linearly with the distance.
function checks.gate()
  local falls = 0
  visit_pairs(function(name, h, i, j, S, _, score, get_first)
    local inputs = S // 2 -- the empty tokens of the outputs follow
    if name:find("layers%.0%.") and inputs > 1 and i < inputs and j < inputs then
      local fall = get_first(0) - get_first(1)
      falls = falls + (math.abs(fall) > 1e-4 and 1 or 0)
      assert(is_near(score, get_first(0) - math.abs(i - j) * fall),
        ("%s: head %d, query %d, key %d"):format(name, h, i, j))
    end
  end)
  assert(falls > 0, "no score falls")
end

checks[arg[1]]()
