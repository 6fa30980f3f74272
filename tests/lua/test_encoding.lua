-- The encoding of a plan as a whole: the limit of a sequence's length.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local plans = require("plans")

local make_plan = plans.make_plan

TestEncoding = {}

function TestEncoding.test_tables_and_sampled_positions_limit_the_length()
  local function find_limit(sets)
    return make_plan(sets).limit
  end
  lu.assertFalse(find_limit({}))
  lu.assertFalse(find_limit({ ["encoding.additive.kind"] = "sinusoid", ["encoding.rotation.kind"] = "rope" }))
  lu.assertEquals(find_limit({ ["encoding.additive.kind"] = "learned", ["encoding.additive.rows"] = "1000" }),
    { tokens = 1000, because = "encoding.additive.rows = 1000" })
  lu.assertEquals(find_limit({ ["encoding.additive.kind"] = "learned", ["encoding.additive.rows"] = "3000",
    ["encoding.positions.kind"] = "randomized" }),
    { tokens = 2048, because = "encoding.positions.max_position = 2048" })
  lu.assertFalse(find_limit({ ["encoding.relative.kind"] = "transformer_xl" }))
  lu.assertEquals(find_limit({ ["encoding.relative.kind"] = "shaw", ["encoding.positions.kind"] = "randomized" }),
    { tokens = 2048, because = "encoding.positions.max_position = 2048" })
end

support.run()
