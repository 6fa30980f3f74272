-- Shares of test sequences that are new to a model, compared with sets of what training sequences have.

local support = dofile("tests/lua/support.lua")

local lu = require("luaunit")
local novelty = require("lab.pages.novelty")
local plans = require("plans")

TestNovelty = {}

-- Returns the positions, distances and numbers of keys of a sequence: by query, and for distances by pair.
local function list_facts(tokens, left, right)
  local facts = { positions = {}, distances = {}, keys = {} }
  for i = 1, tokens do
    local keys = 0
    table.insert(facts.positions, i)
    for j = 1, tokens do
      if i - j <= left and j - i <= right then
        keys = keys + 1
        table.insert(facts.distances, math.abs(i - j))
      end
    end
    table.insert(facts.keys, keys)
  end
  return facts
end

local function count_new(list, most)
  local count = 0
  for _, value in ipairs(list) do
    count = count + (value > most and 1 or 0)
  end
  return count / #list
end

function TestNovelty.test_shares_are_those_of_all_pairs()
  for _, case in ipairs({ { 12, 7, math.huge, math.huge }, { 12, 7, math.huge, 0 }, { 12, 7, 3, 0 }, { 12, 4, 5, 2 },
    { 7, 12, math.huge, 0 }, { 1, 1, 0, 0 } }) do
    local tokens, trained, left, right = table.unpack(case)
    local seen, tested = list_facts(trained, left, right), list_facts(tokens, left, right)
    local shares = novelty.compute_shares(tokens, trained, left, right)
    for name, list in pairs(tested) do
      local most = math.max(table.unpack(seen[name]))
      if name == "distances" then
        most = trained - 1 -- a window may hide distances that fit a training sequence
      end
      lu.assertAlmostEquals(shares[name], count_new(list, most), 1e-12, name)
    end
  end
end

function TestNovelty.test_the_page_has_a_line()
  local plan = plans.make_plan({ ["model.kind"] = "decoder", ["train.lengths"] = "{ 1, 5 }",
    ["eval.lengths"] = "{ list = { 5, 10 } }" })
  lu.assertStrContains(novelty.describe(plan), "at length 5, 10: tokens at later positions 0%, ")
  plan = plans.make_plan({ ["encoding.positions"] = "{ kind = 'randomized', max_position = 128 }",
    ["encoding.additive.kind"] = "sinusoid", ["eval.lengths"] = "{ list = { 50 } }" })
  lu.assertNotStrContains(novelty.describe(plan), "positions")
  plan = plans.make_plan({ ["encoding.lines"] = "{ list = { { head = 0, direction = 1, line = 0, value = 1 } } }" })
  lu.assertNil(novelty.describe(plan))
  plan = plans.make_plan({ ["model.kind"] = "encoder_decoder" })
  lu.assertNil(novelty.describe(plan))
end

support.run()
