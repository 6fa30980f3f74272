-- The facet of rotation: periods of angles, random positions, scalings.

local support = dofile("tests/lua/support.lua")

local encodings = require("encodings")
local lu = require("luaunit")
local positions = require("facets.positions")
local rotation = require("facets.rotation")

local make_encoding = encodings.make_encoding

TestRotation = {}

local function plan_rope(head_width, draw)
  local spec = make_encoding("none", "rope", "randomized", draw or "layer")
  return rotation.plan(spec, encodings.make_family(positions.plan(spec, encodings.BARE, {}), head_width), {})
end

-- The period is the least number of channels that fills whole heads, and whole vectors at every instruction-set level.
-- It divides every width that heads of this size can fill.
function TestRotation.test_angles_repeat_in_whole_heads_and_vectors()
  for head_width = 4, 64, 4 do
    local period = plan_rope(head_width).period
    lu.assertEquals(math.type(period), "integer")
    lu.assertEquals({ period % head_width, period % 16 }, { 0, 0 }, head_width)
    for smaller = 16, period - 16, 16 do
      lu.assertNotEquals(smaller % head_width, 0, "a shorter period suffices for " .. head_width)
    end
    for width = 16, 1024, 16 do
      if width % head_width == 0 and width // head_width <= 64 then
        lu.assertEquals(width % period, 0, ("head width %d, width %d"):format(head_width, width))
      end
    end
  end
end

function TestRotation.test_periods_of_rotation_are_known_values()
  local expected = { [4] = 16, [8] = 16, [12] = 48, [16] = 16, [20] = 80, [24] = 48, [32] = 32, [48] = 48, [60] = 240,
    [64] = 64 }
  for head_width, period in pairs(expected) do
    lu.assertEquals(plan_rope(head_width).period, period, head_width)
  end
end

-- With a draw for each layer, block l reads draw l; it reads draw l + 1 if draw 0 belongs to the input.
function TestRotation.test_each_block_reads_its_own_draw_with_a_draw_for_each_layer()
  lu.assertEquals(plan_rope(8).draw, "l")
  lu.assertEquals(plan_rope(8, "pass").draw, "0")
  local spec = make_encoding("learned", "rope", "randomized", "layer")
  lu.assertEquals(rotation.plan(spec, encodings.make_family(positions.plan(spec, encodings.BARE, {})), {}).draw,
    "l + 1")
  lu.assertNil(rotation.plan(make_encoding("none", "rope", "index"), encodings.make_family({ kind = "index" }),
    {}).draw)
end

function TestRotation.test_the_default_base_is_10000()
  local plan = plan_rope(8)
  lu.assertEquals({ plan.kind, plan.base, plan.base_text }, { "rope", 10000.0, "10000" })
end

-- Returns the plan of a scaling. The longest sequence of training has 36 tokens. kind: the kind of positions.
local function plan_scaling(scaling, kind)
  local spec = make_encoding("none", "rope", kind or "index", "pass")
  spec.rotation.scaling = scaling
  local family = encodings.make_family(positions.plan(spec, encodings.BARE, {}))
  return rotation.plan(spec, family, { longest_training = 36 }).scaling
end

function TestRotation.test_scalings_are_described()
  lu.assertEquals(plan_scaling(nil), { kind = "none" })
  lu.assertEquals(plan_scaling({ kind = "linear", factor = 2.5 }),
    { kind = "linear", factor = 2.5, factor_text = "2.5", attention_factor = false, description = "linear x 2.5" })
  lu.assertEquals(plan_scaling({ kind = "ntk", factor = 4.0 }),
    { kind = "ntk", factor = 4.0, factor_text = "4", attention_factor = false, description = "NTK x 4" })
  lu.assertEquals(plan_scaling({ kind = "yarn", factor = 4.0, original_length = 41, beta_slow = 1.0, beta_fast = 32.0,
    attention_factor = 1.25 }), { kind = "yarn", factor = 4.0, factor_text = "4", original_length = 41,
    beta_slow = 1.0, slow_text = "1", beta_fast = 32.0, fast_text = "32", attention_factor = 1.25,
    description = "YaRN x 4 from 41 positions" })
end

function TestRotation.test_the_default_original_length_is_the_number_of_trained_positions()
  local function make_yarn(original_length)
    return { kind = "yarn", factor = 4.0, original_length = original_length, beta_slow = 1.0, beta_fast = 32.0 }
  end
  lu.assertEquals(plan_scaling(make_yarn()).original_length, 36)
  lu.assertEquals(plan_scaling(make_yarn(), "randomized").original_length, 100)
  lu.assertEquals(plan_scaling(make_yarn(7), "randomized").original_length, 7)
end

function TestRotation.test_kind_none_has_no_data()
  lu.assertEquals(rotation.plan(make_encoding("learned", "none", "index"), encodings.make_family({ kind = "index" }),
    {}),
    { kind = "none" })
end

support.run()
