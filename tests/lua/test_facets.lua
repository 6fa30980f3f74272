-- The facets of an encoding, one by one: draws and their sites, angles that repeat, what is added to the input.

local support = dofile("tests/lua/support.lua")

local additive = require("facets.additive")
local lu = require("luaunit")
local normaliser = require("facets.normaliser")
local positions = require("facets.positions")
local relative = require("facets.relative")
local rotation = require("facets.rotation")

local LAYERS = 3
local NOTHING = { kind = "index", distance = { kind = "none" } }

-- The resolved encoding that the facets read.
local function encoding(added, turned, kind, draw)
  local result = { additive = { kind = added }, rotation = { kind = turned }, relative = { kind = "none" },
    positions = { kind = kind, reading = kind == "randomized" and "drawn" or nil } }
  if added ~= "none" then
    result.additive.dropout = 0.1
  end
  if added == "learned" then
    result.additive.rows, result.additive.init_sigma = 100, 0.5
  end
  if turned == "rope" then
    result.rotation.base = 10000.0
  end
  if kind == "randomized" then
    result.positions.max_position, result.positions.sorted, result.positions.draw = 100, true, draw
  end
  return result
end

TestPositions = {}

-- Additive, rotation, draw; then draws of a pass, what is added to a draw's index for its site, block l's draw.
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

function TestPositions.test_draws()
  for _, case in ipairs(DRAWS) do
    local plan = positions.plan(encoding(case[1], case[2], "randomized", case[3]), LAYERS)
    lu.assertEquals({ plan.draws, plan.site_offset, plan.layer_index }, { case[4], case[5], case[6] },
      table.concat(case, " ", 1, 3))
  end
end

local function value(expression, l)
  return load("local l = ... return " .. expression, "=index", "t", {})(l)
end

-- Site 0 is what the pass shares, l + 1 block l's own; every draw is read by something, and is inside the table.
function TestPositions.test_sites()
  for _, case in ipairs(DRAWS) do
    local name = table.concat(case, " ", 1, 3)
    local plan = positions.plan(encoding(case[1], case[2], "randomized", case[3]), LAYERS)
    local per_layer, read = case[2] == "rope" and case[3] == "layer", {}
    for l = 0, LAYERS - 1 do
      local index = value(plan.layer_index, l)
      lu.assertEquals(value(index .. plan.site_offset), per_layer and l + 1 or 0, name)
      lu.assertTrue(index >= 0 and index < plan.draws, name)
      read[index] = true
    end
    if case[1] ~= "none" then
      lu.assertEquals(value("0" .. plan.site_offset), 0, name .. ": the input's draw")
      read[0] = true
    end
    for d = 0, plan.draws - 1 do
      lu.assertTrue(read[d], ("%s: nothing reads draw %d"):format(name, d))
    end
  end
end

function TestPositions.test_words_say_what_is_drawn()
  local words = {}
  for _, case in ipairs(DRAWS) do
    words[positions.plan(encoding(case[1], case[2], "randomized", case[3]), LAYERS).about] = true
  end
  lu.assertEquals(words, { ["shared by the whole pass"] = true, ["one for each layer"] = true,
    ["the input's, then one for each layer"] = true })
end

function TestPositions.test_range_and_order()
  local spec = encoding("none", "rope", "randomized", "layer")
  local plan = positions.plan(spec, LAYERS)
  lu.assertEquals({ plan.kind, plan.max_position, plan.sorted, plan.sorted_text }, { "randomized", 100, true, "true" })
  spec.positions.sorted = false
  plan = positions.plan(spec, LAYERS)
  lu.assertEquals({ plan.sorted, plan.sorted_text }, { false, "false" })
end

-- From 1 on the range has as many positions, and tables a row more.
function TestPositions.test_from_one()
  local spec = encoding("learned", "rope", "randomized", "pass")
  spec.positions.range = "one_based"
  local plan = positions.plan(spec, LAYERS)
  lu.assertEquals({ plan.range, plan.first, plan.max_position, plan.first_text, plan.range_text },
    { 100, 1, 101, "FIRST_POSITION", "MAX_POSITION - 1" })
end

function TestPositions.test_a_draw_for_every_sequence()
  for _, case in ipairs({ { "learned", "none" }, { "none", "rope" }, { "sinusoid", "rope" } }) do
    local plan = positions.plan(encoding(case[1], case[2], "randomized", "sequence"), LAYERS)
    lu.assertEquals({ plan.kind, plan.max_position, plan.first }, { "sequence", 100, 0 })
    lu.assertEquals({ plan.draws, plan.site_offset, plan.layer_index }, {})
  end
  lu.assertEquals(positions.plan(encoding("none", "none", "randomized", "sequence"), LAYERS), NOTHING)
end

function TestPositions.test_index_draws_nothing()
  for _, case in ipairs(DRAWS) do
    lu.assertEquals(positions.plan(encoding(case[1], case[2], "index"), LAYERS), NOTHING)
  end
end

-- Positions that neither an additive encoding nor a rotation reads are not drawn at all.
function TestPositions.test_nothing_reads_nothing_draws()
  for _, draw in ipairs({ "pass", "layer" }) do
    lu.assertEquals(positions.plan(encoding("none", "none", "randomized", draw), LAYERS), NOTHING, draw)
  end
end

function TestPositions.test_one_layer()
  local plan = positions.plan(encoding("none", "rope", "randomized", "layer"), 1)
  lu.assertEquals({ plan.draws, plan.site_offset, plan.layer_index }, { 1, " + 1", "l" })
end

local MODEL = { layers = LAYERS, heads = 2, width = 16 }

local function with_distances(added, turned, draw, reading, kind)
  local spec = encoding(added, turned, reading == "index" and "index" or "randomized", draw)
  spec.relative = { kind = kind or "transformer_xl", clip = kind == "shaw" and 4 or nil }
  spec.positions.reading = reading ~= "index" and reading or nil
  return spec
end

-- Additive, rotation, draw, reading; then draws of positions, of distances, and sets of distances.
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

TestDistances = {}

function TestDistances.test_draws_and_sets()
  for i, case in ipairs(DISTANCES) do
    local plan = positions.plan(with_distances(case[1], case[2], case[3], case[4]), LAYERS)
    local distance = plan.distance
    lu.assertEquals(distance.kind, case[4])
    lu.assertEquals({ plan.draws or 0, distance.draws or 0 }, { case[5], case[6] }, i)
    lu.assertEquals(distance.max_position, case[6] > 0 and 100 or nil, i)
    for _, kind in ipairs({ "transformer_xl", "shaw" }) do
      local spec = with_distances(case[1], case[2], case[3], case[4], kind)
      lu.assertEquals(relative.plan(spec, MODEL, plan).sets, case[7], i)
    end
  end
end

function TestDistances.test_sides_and_range()
  local spec = with_distances("none", "none", "layer", "drawn")
  lu.assertFalse(positions.plan(spec, LAYERS).distance.independent)
  spec.positions.sides, spec.positions.range = "independent", "one_based"
  local distance = positions.plan(spec, LAYERS).distance
  lu.assertEquals({ distance.independent, distance.range, distance.max_position }, { true, 100, 101 })
  spec.positions.range, spec.positions.reading = nil, "clamped"
  lu.assertFalse(positions.plan(spec, LAYERS).distance.independent)
end

-- Site 0 is what the pass shares, l + 1 block l's own.
function TestDistances.test_sites()
  for _, draw in ipairs({ "pass", "layer" }) do
    local distance = positions.plan(with_distances("none", "none", draw, "drawn"), LAYERS).distance
    for l = 0, LAYERS - 1 do
      local index = value(distance.layer_index, l)
      lu.assertTrue(index >= 0 and index < distance.draws)
      lu.assertEquals(value(index .. distance.site_offset), draw == "layer" and l + 1 or 0)
    end
  end
end

function TestDistances.test_rows_of_the_two_kinds()
  local function plan(kind, reading)
    local spec = with_distances("none", "none", "layer", reading, kind)
    return relative.plan(spec, MODEL, positions.plan(spec, LAYERS))
  end
  local xl = plan("transformer_xl", "drawn")
  lu.assertEquals({ xl.toeplitz, xl.biases, xl.behind, xl.width, xl.vectors }, { true, true, true, 16, 3 })
  local shaw = plan("shaw", "drawn")
  lu.assertEquals({ shaw.toeplitz, shaw.biases, shaw.behind, shaw.width, shaw.vectors }, { true, false, true, 8, 2 })
  lu.assertEquals({ shaw.clip, shaw.rows, shaw.room }, { 4, 9, 80 }) -- 72 elements in vectors of 16
  lu.assertFalse(plan("transformer_xl", "difference").toeplitz)
  lu.assertFalse(plan("shaw", "difference").behind)
  lu.assertEquals(relative.plan(encoding("none", "none", "index"), MODEL, NOTHING).kind, "none")
end

TestRotation = {}

local function rope(head_width, draw)
  local spec = encoding("none", "rope", "randomized", draw or "layer")
  return rotation.plan(spec, head_width, positions.plan(spec, LAYERS))
end

-- A row of heads is a repetition of its first channels, and these are whole vectors of every level.
function TestRotation.test_angles_repeat_in_whole_heads_and_vectors()
  for head_width = 4, 64, 4 do
    local period = rope(head_width).period
    lu.assertEquals(math.type(period), "integer")
    lu.assertEquals({ period % head_width, period % 16 }, { 0, 0 }, head_width)
    for smaller = 16, period - 16, 16 do
      lu.assertNotEquals(smaller % head_width, 0, "a shorter period does for " .. head_width)
    end
    for width = 16, 1024, 16 do
      if width % head_width == 0 and width // head_width <= 64 then
        lu.assertEquals(width % period, 0, ("head width %d, width %d"):format(head_width, width))
      end
    end
  end
end

function TestRotation.test_known_periods()
  local want = { [4] = 16, [8] = 16, [12] = 48, [16] = 16, [20] = 80, [24] = 48, [32] = 32, [48] = 48, [60] = 240,
    [64] = 64 }
  for head_width, period in pairs(want) do
    lu.assertEquals(rope(head_width).period, period, head_width)
  end
end

function TestRotation.test_the_draw_is_the_block_s()
  lu.assertEquals(rope(8).draw, "l")
  lu.assertEquals(rope(8, "pass").draw, "0")
  local spec = encoding("learned", "rope", "randomized", "layer")
  lu.assertEquals(rotation.plan(spec, 8, positions.plan(spec, LAYERS)).draw, "l + 1")
  lu.assertNil(rotation.plan(encoding("none", "rope", "index"), 8, { kind = "index" }).draw)
end

function TestRotation.test_base()
  local plan = rope(8)
  lu.assertEquals({ plan.kind, plan.base, plan.base_text }, { "rope", 10000.0, "10000" })
end

-- What a scaling becomes; 36 tokens is the longest sequence of training.
local function scaled(scaling, kind)
  local spec = encoding("none", "rope", kind or "index", "pass")
  spec.rotation.scaling = scaling
  return rotation.plan(spec, 8, positions.plan(spec, LAYERS), 36).scaling
end

function TestRotation.test_scalings_say_what_they_do()
  lu.assertEquals(scaled(nil), { kind = "none" })
  lu.assertEquals(scaled({ kind = "linear", factor = 2.5 }),
    { kind = "linear", factor = 2.5, factor_text = "2.5", about = "linear x 2.5" })
  lu.assertEquals(scaled({ kind = "ntk", factor = 4.0 }),
    { kind = "ntk", factor = 4.0, factor_text = "4", about = "NTK x 4" })
  lu.assertEquals(scaled({ kind = "yarn", factor = 4.0, original_length = 41, beta_slow = 1.0, beta_fast = 32.0,
    attention_factor = 1.25 }), { kind = "yarn", factor = 4.0, factor_text = "4", original_length = 41,
    beta_slow = 1.0, slow_text = "1", beta_fast = 32.0, fast_text = "32", attention_factor = 1.25,
    about = "YaRN x 4 from 41 positions" })
end

function TestRotation.test_training_ends_where_its_positions_do()
  local function yarn(original_length)
    return { kind = "yarn", factor = 4.0, original_length = original_length, beta_slow = 1.0, beta_fast = 32.0 }
  end
  lu.assertEquals(scaled(yarn()).original_length, 36)
  lu.assertEquals(scaled(yarn(), "randomized").original_length, 100)
  lu.assertEquals(scaled(yarn(7), "randomized").original_length, 7)
end

function TestRotation.test_none_has_nothing()
  lu.assertEquals(rotation.plan(encoding("learned", "none", "index"), 8, { kind = "index" }), { kind = "none" })
end

TestAdditive = {}

function TestAdditive.test_each_kind_has_what_it_needs()
  lu.assertEquals(additive.plan(encoding("none", "rope", "index")), { kind = "none" })
  lu.assertEquals(additive.plan(encoding("sinusoid", "none", "index")), { kind = "sinusoid", dropout_rate = 0.1 })
  lu.assertEquals(additive.plan(encoding("learned", "rope", "randomized", "pass")),
    { kind = "learned", rows = 100, init_sigma = 0.5, dropout_rate = 0.1 })
end

TestPurity = {}

function TestPurity.test_facets_change_nothing_they_are_given()
  for _, case in ipairs(DRAWS) do
    local spec = encoding(case[1], case[2], "randomized", case[3])
    local planned = positions.plan(spec, LAYERS)
    rotation.plan(spec, 8, planned)
    additive.plan(spec)
    lu.assertEquals(spec, encoding(case[1], case[2], "randomized", case[3]))
    lu.assertEquals(planned, positions.plan(spec, LAYERS))
  end
end

TestNormaliser = {}

function TestNormaliser.test_softmax_is_what_there_is_without()
  lu.assertEquals(normaliser.plan({}, { heads = 8 }), { kind = "softmax", template = "cpu/attention.inc.tpl" })
end

function TestNormaliser.test_directions_fill_whole_vectors()
  for heads, width in pairs({ [1] = 16, [8] = 16, [9] = 32, [64] = 128 }) do
    local plan = normaliser.plan({ normaliser = { kind = "geometric", normalised = true, directional = true } },
      { heads = heads })
    lu.assertEquals({ plan.direction_width, plan.fill }, { width, 13 }, heads)
  end
  local plain = normaliser.plan({ normaliser = { kind = "geometric", normalised = false, directional = false } },
    { heads = 8 })
  lu.assertEquals({ plain.direction_width, plain.fill, plain.normalised }, { false, 14, false })
end

support.run()
