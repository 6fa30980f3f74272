-- Overrides of the command line: words for whole sections, and tables that replace others.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")

TestOverrides = {}

local SPEC = [[return {
  task = { data = "x.tsv", axes = { "digits", "carry" }, input_symbols = 3, output_symbols = 2 },
  encoding = { kind = "none" }, model = { layers = 1, width = 32, heads = 2 }, train = { steps = 10, log_every = 5 },
  eval = { by = { digits = { 1, 5 }, carry = true } } }]]

local function resolve(sets)
  local resolved, _, d = support.check_text(SPEC, support.sets(sets))
  return resolved, d:text()
end

function TestOverrides.test_a_word_for_a_section_names_a_preset()
  lu.assertEquals(resolve({ "encoding=rope" }), resolve({ "encoding.use=rope" }))
  lu.assertEquals(resolve({ "encoding=rope" }).encoding.rotation.kind, "rope")
  local resolved = resolve({ "model=small_encoder", "encoding=rope", "encoding.rotation.base=500" })
  lu.assertEquals({ resolved.model.width, resolved.encoding.rotation.base }, { 32, 500.0 })
  local _, message = resolve({ "encoding=ropy" })
  lu.assertStrContains(message, "there is no ropy.lua in spec/encodings")
  lu.assertStrContains(message, 'hint: did you mean "rope"?')
end

function TestOverrides.test_axes_of_an_evaluation_are_replaced_as_a_whole()
  local all = { first = 0, last = 3, step = 1 }
  lu.assertEquals(resolve({ "eval.by={ carry = { 0, 3 } }" }).eval.by, { carry = all })
  lu.assertEquals(resolve({ "eval.by={ carry = { 0, 3 } }", "eval.by.length=true" }).eval.by,
    { carry = all, length = true })
  lu.assertEquals(resolve({ "eval.by.length=true" }).eval.by, { carry = true, length = true,
    digits = { first = 1, last = 5, step = 1 } })
end

support.run()
