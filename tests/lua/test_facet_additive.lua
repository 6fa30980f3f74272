-- The facet of vectors of positions that are added to the vectors of tokens or to the input of blocks, and its dropout.

local support = dofile("tests/lua/support.lua")

local additive = require("facets.additive")
local encodings = require("encodings")
local lu = require("luaunit")

local make_encoding = encodings.make_encoding

TestAdditive = {}

function TestAdditive.test_each_kind_has_its_data()
  lu.assertEquals(additive.plan_added(make_encoding("none", "rope", "index"), {}, {}).kind, "none")
  local rope = make_encoding("none", "rope", "index")
  lu.assertEquals(additive.plan_added(rope, { embedding_dropout = 0.2 }, {}).embedding_rate, 0.2)
  local sinusoid = additive.plan_added(make_encoding("sinusoid", "none", "index"), {}, { grid = 4 })
  lu.assertEquals({ sinusoid.kind, sinusoid.embedding_rate, sinusoid.member, sinusoid.grid }, { "sinusoid", 0.1,
    "sinusoid", false })
  local learned = additive.plan_added(make_encoding("learned", "rope", "randomized", "pass"), {}, {})
  lu.assertEquals({ learned.kind, learned.rows, learned.embedding_rate, learned.frozen, learned.init },
    { "learned", 100, 0.1, false, { kind = "truncated_normal", value = 0.5 } })
end

function TestAdditive.test_in_blocks_the_sum_has_a_dropout_of_its_own()
  local spec = make_encoding("learned", "none", "index")
  spec.additive.at = "block"
  local plan = additive.plan_added(spec, { embedding_dropout = 0.2 }, {})
  lu.assertEquals({ plan.in_blocks, plan.dropout_rate, plan.embedding_rate }, { true, 0.1, 0.2 })
  lu.assertNil(additive.plan_added(spec, {}, {}).embedding_rate)
end

function TestAdditive.test_interleaved_grid_and_frozen_vectors_have_their_data()
  local spec = make_encoding("sinusoid", "none", "index")
  spec.additive.channels = "interleaved"
  lu.assertEquals(additive.plan_added(spec, {}, {}).member, "place")
  spec = make_encoding("sinusoid", "none", "grid")
  lu.assertEquals(additive.plan_added(spec, {}, { grid = 4 }).grid, 4)
  lu.assertEquals(additive.plan_added(spec, {}, { grid = 4 }).member, "place")
  spec = make_encoding("learned", "none", "index")
  spec.additive.learned, spec.additive.init = false, "normal"
  local frozen = additive.plan_added(spec, {}, {})
  lu.assertEquals({ frozen.frozen, frozen.init }, { true, { kind = "normal", value = 0.5 } })
end

support.run()
