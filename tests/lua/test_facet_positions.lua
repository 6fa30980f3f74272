-- The facet of positions: which positions and distances are sampled, how often, and at which sites of the random
-- generator.

local support = dofile("tests/lua/support.lua")

local additive = require("facets.additive")
local encodings = require("encodings")
local lu = require("luaunit")
local positions = require("facets.positions")
local relative = require("facets.relative")
local rotation = require("facets.rotation")

local LAYERS = encodings.LAYERS
local make_encoding, make_relative_encoding = encodings.make_encoding, encodings.make_relative_encoding

TestPositions = {}

-- Checks that attention computes with indices of tokens and samples nothing.
local function check_indices(encoding)
  local plan = positions.plan(encoding, encodings.BARE, {})
  lu.assertEquals({ plan.kind, plan.range, plan.draws, plan.distance.kind, plan.distance.draws },
    { "index", false, false, "none", false })
end

-- { additive kind, rotation kind, draw, number of draws of a pass, offset of a draw's site, index of block l's draw }
local DRAWS = {
  { "sinusoid", "none", "pass", 1, "", "0" },
  { "sinusoid", "none", "layer", 1, "", "0" },
  { "learned", "none", "pass", 1, "", "0" },
  { "learned", "none", "layer", 1, "", "0" },
  { "none", "rope", "pass", 1, "", "0" },
  { "none", "rope", "layer", LAYERS, " + 1", "l" },
  { "sinusoid", "rope", "pass", 1, "", "0" },
  { "sinusoid", "rope", "layer", LAYERS + 1, "", "l + 1" },
  { "learned", "rope", "pass", 1, "", "0" },
  { "learned", "rope", "layer", LAYERS + 1, "", "l + 1" },
}

function TestPositions.test_number_and_index_of_draws()
  for _, case in ipairs(DRAWS) do
    local plan = positions.plan(make_encoding(case[1], case[2], "randomized", case[3]), encodings.BARE, {})
    lu.assertEquals({ plan.draws, plan.site_offset, plan.layer_index }, { case[4], case[5], case[6] },
      table.concat(case, " ", 1, 3))
  end
end

-- Returns the value of a C expression of l, the index of a block.
local function evaluate(expression, l)
  return load("local l = ... return " .. expression, "=index", "t", {})(l)
end

-- The draw that the pass shares has site 0, and the draw of block l has site l + 1. Every index is the index of a draw,
-- and every draw is used.
function TestPositions.test_every_draw_is_used_at_a_site()
  for _, case in ipairs(DRAWS) do
    local name = table.concat(case, " ", 1, 3)
    local plan = positions.plan(make_encoding(case[1], case[2], "randomized", case[3]), encodings.BARE, {})
    local per_layer, is_used = case[2] == "rope" and case[3] == "layer", {}
    for l = 0, LAYERS - 1 do
      local index = evaluate(plan.layer_index, l)
      lu.assertEquals(evaluate(index .. plan.site_offset), per_layer and l + 1 or 0, name)
      lu.assertTrue(index >= 0 and index < plan.draws, name)
      is_used[index] = true
    end
    if case[1] ~= "none" then
      lu.assertEquals(evaluate("0" .. plan.site_offset), 0, name .. ": the input's draw")
      is_used[0] = true
    end
    for d = 0, plan.draws - 1 do
      lu.assertTrue(is_used[d], ("%s: nothing reads draw %d"):format(name, d))
    end
  end
end

function TestPositions.test_text_describes_draws()
  local words = {}
  for _, case in ipairs(DRAWS) do
    words[positions.plan(make_encoding(case[1], case[2], "randomized", case[3]), encodings.BARE, {}).sharing] = true
  end
  lu.assertEquals(words, { ["shared by the whole pass"] = true, ["one for each layer"] = true,
    ["the input's, then one for each layer"] = true })
end

function TestPositions.test_draws_are_sorted_unless_the_spec_says_otherwise()
  local spec = make_encoding("none", "rope", "randomized", "layer")
  local plan = positions.plan(spec, encodings.BARE, {})
  lu.assertEquals({ plan.kind, plan.bound, plan.sorted, plan.sorted_text }, { "randomized", 100, true, "true" })
  spec.positions.sorted = false
  plan = positions.plan(spec, encodings.BARE, {})
  lu.assertEquals({ plan.sorted, plan.sorted_text }, { false, "false" })
end

-- A range that begins at 1 has as many positions as one that begins at 0; tables have one more row, of position 0.
function TestPositions.test_positions_from_one_have_one_more_table_row()
  local spec = make_encoding("learned", "rope", "randomized", "pass")
  spec.positions.range = "one_based"
  local plan = positions.plan(spec, encodings.BARE, {})
  lu.assertEquals({ plan.range, plan.first, plan.bound }, { 100, 1, 101 })
end

function TestPositions.test_a_draw_for_every_sequence()
  for _, case in ipairs({ { "learned", "none" }, { "none", "rope" }, { "sinusoid", "rope" } }) do
    local plan = positions.plan(make_encoding(case[1], case[2], "randomized", "sequence"), encodings.BARE, {})
    lu.assertEquals({ plan.kind, plan.bound, plan.first }, { "sequence", 100, 0 })
    lu.assertEquals({ plan.draws, plan.site_offset, plan.layer_index }, { false, false, false })
  end
  check_indices(make_encoding("none", "none", "randomized", "sequence"))
end

function TestPositions.test_index_draws_nothing()
  for _, case in ipairs(DRAWS) do
    check_indices(make_encoding(case[1], case[2], "index"))
  end
end

-- Positions that neither an additive encoding nor a rotation reads are not sampled.
function TestPositions.test_unused_positions_are_not_drawn()
  for _, draw in ipairs({ "pass", "layer" }) do
    check_indices(make_encoding("none", "none", "randomized", draw))
  end
end

function TestPositions.test_a_model_of_one_layer_draws_once()
  local plan = positions.plan(make_encoding("none", "rope", "randomized", "layer"), { layers = 1 }, {})
  lu.assertEquals({ plan.draws, plan.site_offset, plan.layer_index }, { 1, " + 1", "l" })
end

TestDistances = {}

-- { additive kind, rotation kind, draw, reading, draws of positions, draws of distances, sets of distances }
local DISTANCES = {
  { "none", "none", nil, "index", 0, 0, LAYERS },
  { "none", "none", "layer", "drawn", 0, LAYERS, LAYERS },
  { "none", "none", "pass", "drawn", 0, 1, 1 },
  { "none", "none", "layer", "clamped", 0, LAYERS, LAYERS },
  { "sinusoid", "none", "layer", "drawn", 1, LAYERS, LAYERS },
  { "sinusoid", "none", "pass", "clamped", 1, 1, 1 },
  { "none", "rope", "layer", "drawn", LAYERS, LAYERS, LAYERS },
  { "none", "none", "layer", "difference", LAYERS, 0, LAYERS },
  { "none", "none", "pass", "difference", 1, 0, 1 },
  { "learned", "none", "layer", "difference", LAYERS + 1, 0, LAYERS },
  { "learned", "none", "pass", "difference", 1, 0, 1 },
}

function TestDistances.test_draws_and_sets_of_distances_follow_their_kind()
  for i, case in ipairs(DISTANCES) do
    local plan = positions.plan(make_relative_encoding(case[1], case[2], case[3], case[4]), encodings.BARE, {})
    local distance = plan.distance
    lu.assertEquals(distance.kind, case[4])
    lu.assertEquals({ plan.draws or 0, distance.draws or 0 }, { case[5], case[6] }, i)
    lu.assertEquals(distance.bound, case[6] > 0 and 100, i)
    for _, kind in ipairs({ "transformer_xl", "shaw" }) do
      local spec = make_relative_encoding(case[1], case[2], case[3], case[4], kind)
      lu.assertEquals(relative.plan(spec, encodings.make_family(plan), { width = 16 }).set_count, case[7], i)
    end
  end
end

function TestDistances.test_sides_and_range_of_distances_are_those_of_the_spec()
  local spec = make_relative_encoding("none", "none", "layer", "drawn")
  lu.assertFalse(positions.plan(spec, encodings.BARE, {}).distance.independent)
  spec.positions.sides, spec.positions.range = "independent", "one_based"
  local distance = positions.plan(spec, encodings.BARE, {}).distance
  lu.assertEquals({ distance.independent, distance.range, distance.bound }, { true, 100, 101 })
  spec.positions.range, spec.positions.reading = nil, "clamped"
  lu.assertFalse(positions.plan(spec, encodings.BARE, {}).distance.independent)
end

-- The draw that the pass shares has site 0, and the draw of block l has site l + 1.
function TestDistances.test_every_draw_is_used_at_a_site()
  for _, draw in ipairs({ "pass", "layer" }) do
    local distance = positions.plan(make_relative_encoding("none", "none", draw, "drawn"), encodings.BARE, {}).distance
    for l = 0, LAYERS - 1 do
      local index = evaluate(distance.layer_index, l)
      lu.assertTrue(index >= 0 and index < distance.draws)
      lu.assertEquals(evaluate(index .. distance.site_offset), draw == "layer" and l + 1 or 0)
    end
  end
end

TestPurity = {}

function TestPurity.test_facets_do_not_change_their_input()
  for _, case in ipairs(DRAWS) do
    local spec = make_encoding(case[1], case[2], "randomized", case[3])
    local planned = positions.plan(spec, encodings.BARE, {})
    rotation.plan(spec, encodings.make_family(planned), {})
    additive.plan_added(spec, {})
    lu.assertEquals(spec, make_encoding(case[1], case[2], "randomized", case[3]))
    lu.assertEquals(planned, positions.plan(spec, encodings.BARE, {}))
  end
end

support.run()
