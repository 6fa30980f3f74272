-- The facet of the normaliser: softmax, or geometric with its directions.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local normaliser = require("facets.normaliser")
local plans = require("plans")

TestNormaliser = {}

function TestNormaliser.test_softmax_is_the_default()
  lu.assertEquals(normaliser.plan({}, { heads = 8 }), { kind = "softmax", temperature = 1 })
  lu.assertEquals(normaliser.plan({ normaliser = { kind = "softmax", temperature = 0.01 } }, {}).temperature, 0.01)
end

function TestNormaliser.test_learned_numbers_fill_whole_vectors()
  local plan = normaliser.plan({ normaliser = { kind = "geometric", normalised = true, directional = true } },
    { heads = 8 })
  lu.assertEquals(plan.padding, 13)
  for heads, width in pairs({ [1] = 16, [8] = 16, [9] = 32, [64] = 128 }) do
    local planned = plans.make_plan({ encoding = "{ kind = 'geometric' }", ["model.heads"] = tostring(heads),
      ["model.width"] = tostring(16 * heads) })
    lu.assertEquals(planned.first.request.width, width, heads)
  end
  local plain = normaliser.plan({ normaliser = { kind = "geometric", normalised = false, directional = false } },
    { heads = 8 })
  lu.assertEquals({ plain.padding, plain.normalised }, { 14, false })
end

support.run()
