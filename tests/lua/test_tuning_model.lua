-- The performance model, which chooses the defaults of tuning from a plan, a level and the size of the cache.

local support = dofile("tests/lua/support.lua")

local levels = require("plan.deriving.levels")
local lu = require("luaunit")
local tuning = require("plan.deriving.tuning")
local tuning_plans = require("tuning_plans")

local get_choice, make_plan = tuning_plans.get_choice, tuning_plans.make_plan

TestModel = {}

-- For the base model, measurements led to the same tiles (docs/tuning.md).
function TestModel.test_tiles_of_the_base_model_are_the_measured_ones()
  local plan = make_plan()
  lu.assertEquals(get_choice(plan, 1, "product_tile"), "6x4")
  lu.assertEquals(get_choice(plan, 2, "product_tile"), "6x2")
  lu.assertEquals(get_choice(plan, 1, "gradient_tile"), "4x6")
  lu.assertEquals(get_choice(plan, 2, "gradient_tile"), "4x3")
end

-- A row of 160 floats is ten vectors of the first level: tiles of five columns divide it, tiles of four do not.
function TestModel.test_tiles_follow_the_width()
  lu.assertEquals(get_choice(make_plan("model.width=160", "model.feedforward=640"), 1, "product_tile"), "5x5")
end

-- The default of evaluation_tokens for a level 2 cache of so many KiB.
local function choose_evaluation_tokens(plan, kilobytes)
  return tonumber(tuning.choose_defaults(plan, levels[1], { l2 = kilobytes * 1024 }).evaluation_tokens)
end

function TestModel.test_more_cache_takes_more_tokens()
  local plan, previous_tokens = make_plan(), 0
  for _, kilobytes in ipairs({ 256, 512, 1024, 2048 }) do
    local tokens = choose_evaluation_tokens(plan, kilobytes)
    lu.assertTrue(tokens >= previous_tokens)
    previous_tokens = tokens
  end
  lu.assertTrue(previous_tokens > 84)
end

function TestModel.test_every_default_is_legal()
  local plan = make_plan("precision=float64")
  for i, level in ipairs(levels) do
    for name, value in pairs(tuning.choose_defaults(plan, level, tuning.ANY_MACHINE)) do
      lu.assertTrue(tuning.list_values(plan, level)[name][value])
      lu.assertEquals(get_choice(plan, i, name), value)
    end
  end
end

-- The registers hold a tile's sums, a row of weights and one factor. The number of rows of a gradient tile divides 16,
-- since all sizes are multiples of 16.
function TestModel.test_tiles_fit_their_registers_and_rows_divide_sizes()
  for _, level in ipairs(levels) do
    local values = tuning.list_values(make_plan(), level)
    for _, name in ipairs({ "product_tile", "gradient_tile" }) do
      for _, tile in ipairs(values[name]) do
        local rows, columns = tile:match("(%d+)x(%d+)")
        lu.assertTrue(rows * columns + columns + 1 <= level.registers, level.name .. " " .. tile)
        lu.assertTrue(name == "product_tile" or 16 % rows == 0, tile)
      end
    end
  end
end

-- The runtime divides an evaluation into whole blocks of training.
function TestModel.test_evaluation_takes_whole_blocks()
  for _, tokens in ipairs({ 42, 84, 126 }) do
    local plan = make_plan("train.block_tokens=" .. tokens)
    lu.assertEquals(table.concat(tuning.list_values(plan, levels[1]).evaluation_tokens, " "),
      ("%d %d %d"):format(tokens, 2 * tokens, 3 * tokens))
  end
  for kilobytes, tokens in pairs({ [512] = 84, [1024] = 168 }) do -- values of docs/tuning.md
    lu.assertEquals(choose_evaluation_tokens(make_plan(), kilobytes), tokens)
  end
end

-- The block with the most memory per token determines the choice, wherever it is in the network. first, second: hidden
-- widths of two blocks.
function TestModel.test_evaluation_depends_on_all_blocks()
  local function choose_tokens(first, second)
    support.write("net.lua", ([[
return function(net, model)
  local value = net:embed("embedding", net:stream("source"), { scale = 4, place = net.additive })
  for i, hidden in ipairs({ %d, %d }) do
    local b = net:block("part" .. i, 1)
    local h = b:input(value)
    local wide = b:activation("bent" .. i, b:product("wide" .. i, h, hidden), "gelu")
    b:output(b:norm("n", b:add(h, b:product("back" .. i, wide, model.width))))
    value = b.result
  end
  net:classify(net:readout(value, "last"))
end
]]):format(first, second))
    local path = support.write("mine.lua", [[return { task = { kind = "bucket_sort" },
      model = { source = "net.lua", heads = 2, width = 64 } }]])
    return choose_evaluation_tokens(assert(tuning_plans.project:plan(path, {})).plan, 512)
  end
  lu.assertEquals(choose_tokens(512, 64), choose_tokens(64, 512))
  lu.assertTrue(choose_tokens(64, 64) > choose_tokens(64, 512))
end

function TestModel.test_the_described_shape_has_all_inputs_of_the_choices()
  local shape = tuning.describe_shape(make_plan())
  lu.assertNotEquals(tuning.describe_shape(make_plan("train.block_tokens=126")), shape)
  lu.assertNotEquals(tuning.describe_shape(make_plan("model.activation=gelu")), shape)
end

support.run()
