-- The facet of the normaliser: softmax, or geometric with its directions.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local normaliser = require("facets.normaliser")

TestNormaliser = {}

function TestNormaliser.test_softmax_is_what_there_is_without()
  lu.assertEquals(normaliser.plan({}, { heads = 8 }), { kind = "softmax", temperature = 1 })
  lu.assertEquals(normaliser.plan({ normaliser = { kind = "softmax", temperature = 0.01 } }, {}).temperature, 0.01)
end

function TestNormaliser.test_directions_fill_whole_vectors()
  for heads, width in pairs({ [1] = 16, [8] = 16, [9] = 32, [64] = 128 }) do
    local plan = normaliser.plan({ normaliser = { kind = "geometric", normalised = true, directional = true } },
      { heads = heads })
    lu.assertEquals({ plan.direction_width, plan.fill }, { width, 13 }, heads)
  end
  local plain = normaliser.plan({ normaliser = { kind = "geometric", normalised = false, directional = false } },
    { heads = 8 })
  lu.assertEquals({ plain.direction_width, plain.fill, plain.normalised }, { false, 14, false })
end

support.run()
