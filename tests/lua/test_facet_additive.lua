-- The facet of what is added to the token embedding.

local support = dofile("tests/lua/support.lua")

local additive = require("plan.facets.additive")
local encodings = require("encodings")
local lu = require("luaunit")

local encoding = encodings.encoding

TestAdditive = {}

function TestAdditive.test_each_kind_has_what_it_needs()
  lu.assertEquals(additive.plan(encoding("none", "rope", "index"), {}), { kind = "none" })
  lu.assertEquals(additive.plan(encoding("none", "rope", "index"), { embedding_dropout = 0.2 }),
    { kind = "none", dropout_rate = 0.2 })
  lu.assertEquals(additive.plan(encoding("sinusoid", "none", "index"), {}), { kind = "sinusoid", dropout_rate = 0.1 })
  lu.assertEquals(additive.plan(encoding("learned", "rope", "randomized", "pass"), {}),
    { kind = "learned", rows = 100, init_sigma = 0.5, dropout_rate = 0.1 })
end

support.run()
