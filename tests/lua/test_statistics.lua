-- Statistics compared with known numbers.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local statistics = require("lab.study.read.statistics")

TestStatistics = {}

function TestStatistics.test_known_numbers()
  local values = { 4, 1, 3, 2 }
  lu.assertEquals(statistics.mean(values), 2.5)
  lu.assertAlmostEquals(statistics.sd(values), math.sqrt(5 / 3), 1e-15)
  lu.assertEquals(statistics.max(values), 4)
  lu.assertEquals({ statistics.quantile(values, 0.25), statistics.quantile(values, 0.5),
    statistics.quantile(values, 0.75) }, { 1.75, 2.5, 3.25 })
  lu.assertEquals(statistics.share_above(values, 2), 0.5)
  lu.assertEquals(values, { 4, 1, 3, 2 })
end

function TestStatistics.test_too_few_numbers_give_nothing()
  lu.assertNil(statistics.mean({}))
  lu.assertNil(statistics.sd({ 7 }))
  lu.assertNil(statistics.max({}))
  lu.assertNil(statistics.quantile({}, 0.5))
  lu.assertNil(statistics.share_above({}, 0))
end

support.run()
