-- Canonical text is equal for equal data.

local support = dofile("tests/lua/support.lua")

local canonical = require("base.canonical")
local lu = require("luaunit")

TestCanonical = {}

function TestCanonical.test_keys_are_sorted()
  lu.assertEquals(canonical.format({ b = 1, a = { d = true, c = "x" }, e = { 3, { f = 4 } } }),
    '{"a":{"c":"x","d":true},"b":1,"e":[3,{"f":4}]}')
  lu.assertEquals(canonical.sort_keys({ z = 1, _ = 2, Z = 3, a = 4 }), { "Z", "_", "a", "z" })
end

-- The second table gets its keys in the reverse order, with further keys that are then removed.
function TestCanonical.test_the_order_of_insertion_does_not_matter()
  local forward, backward = {}, {}
  for i = 1, 40 do
    forward["k" .. i] = i
    backward["k" .. 41 - i] = 41 - i
    backward["x" .. i] = i
  end
  for i = 1, 40 do
    backward["x" .. i] = nil
  end
  lu.assertEquals(canonical.format(forward), canonical.format(backward))
end

function TestCanonical.test_numbers_and_strings_have_one_form()
  local cases = { [2e6] = "2000000", [0.1] = "0.1", [1 / 3] = "0.33333333333333331", [1e-8] = "1e-08",
    [1e300] = "1e+300", [-7] = "-7", ['a"b\\\n\t\r\1'] = '"a\\"b\\\\\\n\\t\\r\\u0001"', [true] = "true" }
  for value, expected in pairs(cases) do
    lu.assertEquals(canonical.format(value), expected)
  end
  lu.assertEquals(tonumber(canonical.format(0.1 + 0.2)), 0.1 + 0.2)
end

support.run()
