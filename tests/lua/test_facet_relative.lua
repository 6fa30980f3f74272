-- The facet of vectors of distances: the plan data of both kinds.

local support = dofile("tests/lua/support.lua")

local encodings = require("encodings")
local lu = require("luaunit")
local positions = require("facets.positions")
local relative = require("facets.relative")

local NOTHING = encodings.NOTHING
local make_encoding, make_relative_encoding = encodings.make_encoding, encodings.make_relative_encoding

TestRelative = {}

function TestRelative.test_both_kinds_have_their_rows_and_vectors()
  local function plan_relative(kind, reading)
    local spec = make_relative_encoding("none", "none", "layer", reading, kind)
    return relative.plan(spec, encodings.make_family(positions.plan(spec, encodings.BARE, {})), { width = 16 })
  end
  local xl = plan_relative("transformer_xl", "drawn")
  lu.assertEquals({ xl.toeplitz, xl.biases, xl.has_step_tables, xl.width, xl.vectors }, { true, true, true, 16, 3 })
  local shaw = plan_relative("shaw", "drawn")
  lu.assertEquals({ shaw.toeplitz, shaw.biases, shaw.has_step_tables, shaw.width, shaw.vectors },
    { true, false, true, 8, 2 })
  lu.assertEquals({ shaw.clip, shaw.rows, shaw.padded_elements }, { 4, 9, 80 }) -- 72 elements in vectors of 16
  lu.assertAlmostEquals(shaw.init_sigma, math.sqrt(2 / 17), 1e-15)
  local rotated = plan_relative("transformer_xl", "difference")
  lu.assertEquals({ rotated.toeplitz, rotated.rotated, rotated.has_step_tables, xl.rotated },
    { false, true, true, false })
  lu.assertFalse(plan_relative("shaw", "difference").rotated)
  lu.assertFalse(plan_relative("shaw", "difference").has_step_tables)
  lu.assertEquals(relative.plan(make_encoding("none", "none", "index"), encodings.make_family(NOTHING), {}).kind,
    "none")
end

function TestRelative.test_keys_before_the_query_alone_have_rows_of_one_side()
  local spec = make_relative_encoding("none", "none", "layer", "index", "shaw")
  spec.relative.sides, spec.relative.init_sigma = "left", 1.0
  local plan = relative.plan(spec, encodings.make_family(positions.plan(spec, encodings.BARE, {})), { width = 16 })
  lu.assertEquals({ plan.rows, plan.rows_text, plan.farthest, plan.init_sigma }, { 5, "CLIP + 1", "0", 1.0 })
end

support.run()
